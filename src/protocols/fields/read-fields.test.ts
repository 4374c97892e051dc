import { expect, it } from 'vitest'
import { scanJson } from '../json/scan-json.ts'
import { readNested } from './read-fields.ts'

const TABLE = { reasoning: { effort: { kind: 'string' } } } as const

function read(text: string) {
  const bytes = Buffer.from(text)
  const scanned = scanJson(bytes, { depthMax: 64, valuesMax: 1_000_000 })
  if (scanned.kind !== 'scanned') throw new Error(scanned.kind)
  return readNested({ bytes, members: scanned.members, value: JSON.parse(text) }, TABLE)
}

it('names what it does not know, and takes null for an absent object', () => {
  expect(read('{"reasoning":{"effort":"low","budget":3,"__proto__":1}}')).toEqual({
    kind: 'read',
    ignored: ['reasoning.budget', 'reasoning.__proto__'],
  })
  expect(read('{"reasoning":null}')).toEqual({ kind: 'read', ignored: [] })
})

it('refuses an object of thousands of members, as the whole body is refused', () => {
  const members = Array.from({ length: 5000 }, (_, at) => `"x${at}":0`).join()
  expect(read(`{"reasoning":{${members}}}`)).toMatchObject({ problem: { code: 'invalid_value', param: 'reasoning' } })
})
