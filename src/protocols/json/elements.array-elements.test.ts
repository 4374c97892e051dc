import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { arrayElements, elementsWithin } from './bytes.ts'

describe('arrayElements', () => {
  it('gives the bytes of each element, whatever is in it', () => {
    const seed = 31
    let elements = 0
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ maxDepth: 4 })), fc.constantFrom(undefined, 1, '\t'), (values, space) => {
        const found = arrayElements(Buffer.from(JSON.stringify(values, undefined, space)))
        elements += found.length
        expect(found.map((bytes) => JSON.parse(String(bytes)))).toEqual(JSON.parse(JSON.stringify(values)))
      }),
      { seed, numRuns: 500 },
    )
    console.info(`array-elements: seed ${seed}, 500 arrays, ${elements} elements`)
  })

  it.each([
    ['[]', []],
    [' [ ] ', []],
    ['["a,]\\"",{"b":[1,2]}]', ['"a,]\\""', '{"b":[1,2]}']],
    ['["\\\\","b"]', ['"\\\\"', '"b"']],
    ['[{"a":[1,{"b":"],}"}]},"x,\\"]",[2,3]]', ['{"a":[1,{"b":"],}"}]}', '"x,\\"]"', '[2,3]']],
  ])('%s', (array, expected) => {
    expect(arrayElements(Buffer.from(array)).map(String)).toEqual(expected)
  })

  it('gives those that end within a bound', () => {
    const list = Buffer.from('["aaaa","bbbb","cccc"]')
    const within = (bytesMax: number) => [...elementsWithin(list, bytesMax)].map(String)
    expect(within(14)).toEqual(['"aaaa"'])
    expect(within(15)).toEqual(['"aaaa"', '"bbbb"'])
  })
})
