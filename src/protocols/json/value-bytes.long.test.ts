import { isAscii } from 'node:buffer'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { scanJson } from './scan-json.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const COUNT = 100_000
const many = (make: (at: number) => string, count = COUNT): string =>
  `[${Array.from({ length: count }, (_, at) => make(at)).join(',')}]`
const nested = '['.repeat(50) + ']'.repeat(50)
const members = (make: (at: number) => string, count: number): string =>
  `{${Array.from({ length: count }, (_, at) => make(at)).join(',')}}`

const KINDS: readonly (readonly [kind: string, value: string])[] = [
  ['empty arrays', many(() => '[]')],
  ['empty objects', many(() => '{}')],
  ['arrays in arrays', many(() => nested, COUNT / 50)],
  ['arrays of one', many(() => '[1]')],
  ['numbers', many(() => '1')],
  ['fractions', many((at) => String(at + 0.5))],
  ['the same short string', many(() => '"a"')],
  ['short strings', many((at) => `"${at}"`)],
  ['strings of twenty characters', many((at) => `"${String(at).padStart(20, 'x')}"`)],
  ['the same beyond Latin', many((at) => `"${String(at).padStart(20, 'ж')}"`)],
  ['one character of two bytes makes all of them so', `["${'x'.repeat(COUNT)}ж"]`],
  ['objects of one name', many(() => '{"a":1}', 90_000)],
  ['objects of names of their own', many((at) => `{"k${at}":1}`, 50_000)],
  ['objects of numbers as names', many((at) => `{"${at * 1000}":1}`, 50_000)],
  ['one object of many names', members((at) => `"key${at}":1`, 90_000)],
  ['a name again and again', many(() => '{"a":1,"a":1,"a":1}', 20_000)],
  ['messages', many(() => '{"role":"user","content":"a"}', 40_000)],
]

/** What stays in the heap of what is parsed, and is held by nothing else. */
function heapOf(text: string): number {
  const holder: { value?: unknown } = {}
  collect()
  collect()
  const before = process.memoryUsage().heapUsed
  holder.value = JSON.parse(text)
  collect()
  collect()
  const bytes = process.memoryUsage().heapUsed - before
  holder.value = undefined
  return bytes
}

describe('the heap that a value takes is never more than what is counted for it', () => {
  test.each(KINDS)('%s', (_kind, text) => {
    const bytes = Buffer.from(`{"a":${text}}`)
    const scan = scanJson(bytes, { depthMax: 64, valuesMax: 1_000_000 })
    if (scan.kind !== 'scanned') throw new Error(scan.kind)
    const characters = isAscii(bytes) ? bytes.length : 2 * bytes.length
    const heapMax = scan.valueBytes + characters + 512 * 1024
    // Other allocations of the process add some hundred kilobytes of noise, seldom more: what is too large is measured again.
    let heap = heapOf(`{"a":${text}}`)
    for (let again = 0; again < 2 && heap >= heapMax; again++) heap = heapOf(`{"a":${text}}`)
    expect(heap).toBeLessThan(heapMax)
  })
})
