import { expect, it } from 'vitest'
import { catalogOf, modelDefinition } from '../../test/fixtures/catalog/catalog.ts'
import { requestOf } from '../../test/fixtures/protocols/responses/read-request.ts'
import type { Caller } from '../model/caller.ts'
import { CACHED_BYTES_MIN } from '../pricing/seen-prefixes.ts'
import { sentPromptOf } from './plan-turn.ts'

const { model } = catalogOf(modelDefinition('m', { inputTokensMax: { image: 1500 } })).entries.get('m')!
const caller = { key: 'key_1' } as unknown as Caller
const LONG = 'a'.repeat(CACHED_BYTES_MIN)
const promptOf = (input: unknown) => sentPromptOf(caller, requestOf({ model: 'm', input }), model)

it('a prompt is taken for its words by their bytes, rounded down, and for what its parts count', () => {
  expect(promptOf(`${LONG}bcde`)?.tokens).toBe(Math.floor(`"${LONG}bcde`.length / 4))
  const data = `iVBORw0KGgo${'A'.repeat(100_001)}`
  const image = { type: 'input_image', image_url: `data:image/png;base64,${data}` }
  const shown = promptOf([{ role: 'user', content: [image] }])
  const words = shown!.messages.length - data.length
  expect(words).toBeLessThan(120)
  expect(shown?.tokens).toBe(Math.floor(words / 4) + 1500)
})

it('a prompt that is too short to be cached is not looked at', () => {
  expect(promptOf(LONG.slice(2))).toBeUndefined()
  expect(promptOf(LONG.slice(1))?.messages).toHaveLength(CACHED_BYTES_MIN)
})

it('what a provider has seen of a prompt is known to the key that has sent it, and for the model that was asked', () => {
  const ownerOf = (key: string, id: string) =>
    sentPromptOf({ key } as unknown as Caller, requestOf({ model: id, input: LONG }), { ...model, id })?.owner
  expect(ownerOf('key_1', 'm')).toBe(promptOf(LONG)?.owner)
  expect(new Set([ownerOf('key_1', 'm'), ownerOf('key_2', 'm'), ownerOf('key_1', 'n')]).size).toBe(3)
})
