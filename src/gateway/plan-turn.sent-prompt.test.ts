import { expect, it } from 'vitest'
import { catalogOf, modelDefinition } from '../../test/fixtures/catalog/catalog.ts'
import { requestOf } from '../../test/fixtures/protocols/responses/read-request.ts'
import type { Caller } from '../model/caller.ts'
import { sentPromptOf } from './plan-turn.ts'

const { model } = catalogOf(modelDefinition('m', { inputTokensMax: { image: 1500 } })).entries.get('m')!
const caller = { key: 'key_1' } as unknown as Caller
const LONG = 'x'.repeat(5001)
const promptOf = (input: unknown) => sentPromptOf(caller, requestOf({ model: 'm', input }), model)

it('a prompt is taken for its words by their bytes, rounded down, and for what its parts count', () => {
  expect(promptOf(LONG)?.tokens).toBe(Math.floor(`"${LONG}`.length / 4))
  const data = `iVBORw0KGgo${'A'.repeat(100_001)}`
  const image = { type: 'input_image', image_url: `data:image/png;base64,${data}` }
  const shown = promptOf([{ role: 'user', content: [image] }])
  const words = shown!.messages.length - data.length
  expect(words).toBeLessThan(120)
  expect(shown?.tokens).toBe(Math.floor(words / 4) + 1500)
})

it('what a provider has seen of a prompt is known to the key that has sent it, and for the model that was asked', () => {
  const ownerOf = (key: string, id: string) =>
    sentPromptOf({ key } as unknown as Caller, requestOf({ model: id, input: LONG }), { ...model, id })?.owner
  expect(ownerOf('key_1', 'm')).toBe(promptOf(LONG)?.owner)
  expect(new Set([ownerOf('key_1', 'm'), ownerOf('key_2', 'm'), ownerOf('key_1', 'n')]).size).toBe(3)
})

it('a short prompt is in no cache', () => {
  expect([promptOf('x'.repeat(4094)), promptOf('x'.repeat(4095))?.messages.length]).toEqual([undefined, 4096])
})
