import { describe, expect, it } from 'vitest'
import { scanInPieces, scanJson, spliceElement } from './scan-json.ts'

const bounds = { depthMax: 64, valuesMax: 1_000_000 }
const scanText = (text: string, limits = bounds) => scanJson(Buffer.from(text), limits)

describe('scanJson', () => {
  it('stops at the bounds', () => {
    expect(scanText(`{"a":${'['.repeat(63)}${']'.repeat(63)}}`).kind).toBe('scanned')
    expect(scanText(`{"a":${'['.repeat(64)}`).kind).toBe('too-deep')
    expect(scanText(`{"a":${'['.repeat(100_000)}`).kind).toBe('too-deep')
    expect(scanText(`{"a":[${'[],'.repeat(2000)}`, { depthMax: 64, valuesMax: 1000 }).kind).toBe('too-many-values')
    expect(scanText(`{${'"a":1,'.repeat(5000)}"b":2}`).kind).toBe('too-many-values')
    expect(scanText(`{"a":{${'"k":1,'.repeat(100_000)}"b":2}}`).kind).toBe('too-many-values')
  })

  it.each(['', ' ', '[]', '[{}]', '"{}"', '1', '\ufeff{}', '}'])('does not take %j for an object', (text) => {
    expect(scanText(text).kind).toBe('not-an-object')
  })

  it.each(['{', '{"', '{"a', '{"a":"', '{"a":"\\', '{"a":[}', '{]', `{"a":"${'\\"'.repeat(500)}`])(
    'calls %j broken',
    (text) => {
      expect(scanText(text).kind).toBe('broken')
    },
  )

  it('reads long strings that end in backslashes', () => {
    for (const length of [0, 30, 31, 32, 33, 34, 63, 64, 65, 1000]) {
      for (const backslashes of [0, 2, 4, 34, 66]) {
        const text = `{"a":"${'x'.repeat(length)}${'\\'.repeat(backslashes)}","b":1}`
        const scan = scanText(text)
        expect(scan).toMatchObject({ kind: 'scanned', members: [{ name: 'a' }, { name: 'b' }] })
      }
      const quoted = `{"a":"${'x'.repeat(length)}${'\\"'.repeat(40)}","b":1}`
      expect(scanText(quoted)).toMatchObject({ kind: 'scanned', members: [{ name: 'a' }, { name: 'b' }] })
    }
  })

  it('finds long texts of messages, and whether a cache is marked', () => {
    const long = 'x'.repeat(2000)
    const text = JSON.stringify({
      content: long,
      a: [{ content: long, text: 'short', contents: long, arguments: [long] }],
    })
    const first = text.indexOf('[{"content":') + '[{"content":'.length
    const pieces = { pieceBytes: Number.POSITIVE_INFINITY, pause: () => undefined, findsTexts: true }
    expect(scanInPieces(Buffer.from(text), bounds, pieces)).toMatchObject({ texts: [first, first + 2002] })
    expect(scanText(text)).toMatchObject({ texts: [], hasCacheMarks: false })
    expect(scanText('{"a":{"cache_control":1}}')).toMatchObject({ texts: [], hasCacheMarks: true })
    expect(scanText('{"a":{"b":"cache_control"}}')).toMatchObject({ hasCacheMarks: false })
  })

  it('bounds names and outer members as it is told, and no part of what was bounded before', () => {
    const message = JSON.stringify(Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`k${at}`, 1])))
    expect(scanText(message).kind).toBe('too-many-values')
    expect(scanJson(Buffer.from(message), { ...bounds, membersMax: 10_000 }).kind).toBe('scanned')
    expect(scanJson(Buffer.from(message), { ...bounds, membersMax: 10_000, namesMax: 4999 }).kind).toBe(
      'too-many-values',
    )
    const cut = spliceElement(Buffer.from(message), new Map([['k0', null]]))
    expect(Object.keys(JSON.parse(cut.toString()))).toHaveLength(4999)
  })

  it('works per byte, not per byte squared, on the strings that make it look back', () => {
    for (const unit of ['\\', '\\\\', '\\"', '"', '"a":"', '{"a":', '\\u0022']) {
      const bytes = Buffer.from(`{"a":"${unit.repeat(2_000_000 / unit.length)}`)
      expect(['broken', 'scanned', 'too-deep', 'too-many-values']).toContain(scanJson(bytes, bounds).kind)
    }
  })
})
