import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { itemsOf } from './items-of.ts'

const all = (list: Buffer, bytesMax = list.length) => [...itemsOf(list, bytesMax)]

describe('the items of a list', () => {
  it.each([
    ['[]', []],
    ['[ ]', []],
    ['[1]', ['1']],
    ['[{"a":[1,{"b":"],}"}]},"x,\\"]",[2,3]]', ['{"a":[1,{"b":"],}"}]}', '"x,\\"]"', '[2,3]']],
    ['["\\\\","b"]', ['"\\\\"', '"b"']],
  ])('of %s', (list, items) => {
    expect(
      all(Buffer.from(list))
        .map(String)
        .map((item) => item.trim())
        .filter(Boolean),
    ).toEqual(items)
  })

  it('end within the bound', () => {
    const list = Buffer.from('["aaaa","bbbb","cccc"]')
    expect(all(list, 14).map(String)).toEqual(['"aaaa"'])
    expect(all(list, 15).map(String)).toEqual(['"aaaa"', '"bbbb"'])
  })

  it('are those of JSON.parse, whatever is in them and however it is written', () => {
    const seed = 20_281
    let items = 0
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ maxDepth: 4 })), fc.nat(3), (values, indent) => {
        const list = Buffer.from(JSON.stringify(values, null, indent))
        const found = all(list).map((item) => JSON.parse(String(item)) as unknown)
        expect(found).toEqual(JSON.parse(JSON.stringify(values)))
        items += found.length
      }),
      { seed, numRuns: 2000 },
    )
    console.info(`items of a list: seed ${seed}, ${items} items`)
    expect(items).toBeGreaterThan(2000)
  })
})
