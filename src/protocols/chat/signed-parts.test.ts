import { expect, it } from 'vitest'
import { DetailsReader, ExtraReader, readSignedParts, writeSignedParts } from './signed-parts.ts'

const opaque = (data: string, wire: 'chat' | 'gemini' = 'chat') => ({ wire, origin: 'lane', data })

it('signed parts are told from reasoning as it was', () => {
  const parts = { extra: { google: { thought_signature: 'a' } } }
  expect(readSignedParts(opaque(writeSignedParts(parts)))).toEqual(parts)
  expect(readSignedParts(opaque('Let me think.'))).toBeUndefined()
  expect(readSignedParts(opaque(writeSignedParts(parts), 'gemini'))).toBeUndefined()
})

it('the pieces of a detail are joined, and details wait for one with a signature', () => {
  const reader = new DetailsReader()
  reader.add([{ type: 'reasoning.text', text: 'a', index: 0 }, 5, null])
  expect(reader.take()).toBeUndefined()
  reader.add([{ type: 'reasoning.text', text: 'b', signature: null, index: 0 }])
  reader.add([{ type: 'reasoning.text', signature: 's', text: null, index: 0 }])
  reader.add([{ type: 'reasoning.encrypted', data: 'x', index: 0 }])
  reader.add([{ type: 'reasoning.encrypted', data: 'y', index: 0 }])
  expect(reader.take()).toEqual([
    { type: 'reasoning.text', text: 'ab', signature: 's', index: 0 },
    { type: 'reasoning.encrypted', data: 'x', index: 0 },
    { type: 'reasoning.encrypted', data: 'y', index: 0 },
  ])
  expect(reader.take()).toBeUndefined()
})

it('nothing is added to a detail that is signed', () => {
  const reader = new DetailsReader()
  for (const piece of [{ text: 'a' }, { signature: 's1' }, { text: 'b' }, { signature: 's2' }])
    reader.add([{ type: 'reasoning.text', ...piece }])
  expect(reader.take()).toEqual([
    { type: 'reasoning.text', text: 'a', signature: 's1' },
    { type: 'reasoning.text', text: 'b', signature: 's2' },
  ])
})

it('what is too long to go back with each request is left out', () => {
  const long = 'x'.repeat(600_000)
  const extras = new ExtraReader()
  expect(extras.read({ extra_content: { long } })).toEqual({ long })
  expect(extras.read({ extra_content: { long } })).toBeUndefined()
  const reader = new DetailsReader()
  for (let pieces = 0; pieces < 2; pieces++) reader.add([{ type: 'reasoning.encrypted', data: long }])
  expect(reader.take()).toBeUndefined()
})
