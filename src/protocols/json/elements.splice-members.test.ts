import { describe, expect, it } from 'vitest'
import { spliceMembers } from './bytes.ts'
import { scanJson } from './scan-json.ts'

function bodyOf(text: string) {
  const bytes = Buffer.from(text)
  const scan = scanJson(bytes, { depthMax: 64, valuesMax: 1_000_000 })
  if (scan.kind !== 'scanned') throw new Error(`${scan.kind}: ${text}`)
  return { bytes, members: scan.members }
}

const splice = (text: string, changes: Record<string, string | null>) =>
  spliceMembers(
    bodyOf(text),
    new Map(Object.entries(changes).map(([name, value]) => [name, value === null ? null : Buffer.from(value)])),
  ).toString()

describe('spliceMembers', () => {
  it('changes only the requested bytes', () => {
    expect(splice('{ "model" : "x-high",\n "a":1.50e1 , "b":"\\u0041" }', { model: '"y"' })).toBe(
      '{ "model" : "y",\n "a":1.50e1 , "b":"\\u0041" }',
    )
    expect(splice('{"a":1}', {})).toBe('{"a":1}')
  })

  it('takes the comma along with a member that goes', () => {
    expect(splice('{"a":1, "b":2, "c":3}', { a: null })).toBe('{"b":2, "c":3}')
    expect(splice('{"a":1, "b":2, "c":3}', { b: null })).toBe('{"a":1, "c":3}')
    expect(splice('{"a":1, "b":2, "c":3}', { c: null })).toBe('{"a":1, "b":2}')
    expect(splice('{"a":1, "b":2, "c":3}', { a: null, c: null })).toBe('{"b":2}')
    expect(splice('{"a":1, "b":2}', { a: null, b: null, c: '3' })).toBe('{"c":3}')
  })

  it('changes every member of a name that appears twice', () => {
    expect(splice('{"a":1,"b":2,"a":3}', { a: '9' })).toBe('{"a":9,"b":2,"a":9}')
    expect(splice('{"a":1,"b":2,"a":3}', { a: null })).toBe('{"b":2}')
  })

  it('adds to an empty object, and does nothing for dropping what is not there', () => {
    expect(splice('{ }', { a: '1', b: '2' })).toBe('{"a":1,"b":2 }')
    expect(splice('{"a":1}', { b: null })).toBe('{"a":1}')
  })
})
