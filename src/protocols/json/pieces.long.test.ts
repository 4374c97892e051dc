import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomFrom } from '../../../test/fixtures/lib/seeded-random.ts'
import { tryParse } from './bytes.ts'
import { parseInPieces, writeInPieces } from './in-pieces.ts'
import { PIECE_BYTES } from './scan-json.ts'

const SEED = 20_261_123
const RUNS = Number(process.env.LARGE_TEXTS ?? 6)

/** Characters of one to four bytes, and what has to be escaped. */
const ALPHABETS = ['a', 'é', 'д', '漢', '😀', '\\', '"', '\n', '\u0001', '\ud83d', ' ']
const WHITE = ['', ' ', '\n\t']

/** A text of JSON that is longer than a piece, in one of many shapes, written with space and escapes of its own. */
function largeText(random: (below: number) => number, shapes: Map<string, number>): string {
  const note = (shape: string) => shapes.set(shape, (shapes.get(shape) ?? 0) + 1)
  const space = () => WHITE[random(WHITE.length)] ?? ''
  const characters = () =>
    Array.from({ length: 1 + random(9) }, () => ALPHABETS[random(ALPHABETS.length)] ?? '').join('')
  const quoted = (text: string) => {
    const plain = JSON.stringify(text)
    if (random(3) > 0) return plain
    note('escaped')
    return plain.replace(/[дé漢]/g, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`)
  }
  const string = (bytes: number) => {
    const unit = quoted(characters()).slice(1, -1)
    // Cuts fall everywhere in it.
    return `"${'x'.repeat(random(7))}${unit.repeat(Math.ceil(bytes / Math.max(1, Buffer.byteLength(unit))))}"`
  }
  const name = () => ['"a"', '"__proto__"', '"\\u0061"', quoted(characters())][random(4)]
  const small = (): string =>
    ['1', '-2.5e3', 'true', 'null', '"s"', '[]', '{}', `{${name()}:[1,${quoted(characters())}]}`, '[[1],[2]]'][
      random(9)
    ] ?? ''
  const value = (bytes: number, depth: number): string => {
    if (bytes < 100) return small()
    const kind = depth > 4 ? 0 : random(4)
    if (kind === 0) {
      note('long string')
      return string(bytes)
    }
    const members = kind === 1 ? 1 + random(3) : Math.ceil(bytes / 60)
    note(kind === 1 ? 'few large members' : 'many small members')
    const isList = random(2) === 0
    const parts = Array.from({ length: members }, (_, at) => {
      const inner = kind === 1 ? value(bytes / (1 + at), depth + 1) : small()
      return `${space()}${isList ? '' : `${name()}${space()}:${space()}`}${inner}${space()}`
    })
    return isList ? `[${parts.join(',')}]` : `{${parts.join(',')}}`
  }
  const mixed = [small(), value(1.2 * PIECE_BYTES, 0), small(), value(2.3 * PIECE_BYTES, 0), small()]
  return `${space()}{"first":${mixed[0]},"large":[${mixed.slice(1).join(`${space()},`)}]${space()}}${space()}`
}

describe('a large text', () => {
  it('is parsed in pieces as at once, and written in pieces as at once', { timeout: 60_000 }, async () => {
    const random = randomFrom(SEED)
    const shapes = new Map<string, number>()
    for (let run = 0; run < RUNS; run++) {
      const text = largeText(random, shapes)
      const bytes = Buffer.from(text)
      // What cannot be written in UTF-8 is replaced on the way.
      const expected = JSON.parse(String(bytes))
      const value = await parseInPieces(bytes)
      const again = JSON.stringify(expected)
      expect(JSON.stringify(value) === again, `run ${run}`).toBe(true)
      expect((await writeInPieces(value, bytes.length)).equals(Buffer.from(again)), `run ${run}`).toBe(true)
    }
    console.info(`pieces: seed ${SEED}, ${RUNS} texts, ${JSON.stringify([...shapes])}`)
    for (const count of shapes.values()) expect(count).toBeGreaterThan(RUNS / 3)
  })

  it('with a mistake anywhere stands for nothing, in pieces as at once', { timeout: 60_000 }, async () => {
    const random = randomFrom(SEED)
    const seen = { invalid: 0, valid: 0 }
    for (let run = 0; run < RUNS; run++) {
      const bytes = Buffer.from(largeText(random, new Map()))
      const places = [...Buffer.from(',:"[]{}\\ \n1tx\u0001')]
      for (let mistake = 0; mistake < 6; mistake++) {
        // Near a large value, where pieces meet, or anywhere.
        const at = random(2) === 0 ? random(200) : random(bytes.length)
        bytes[at] = places[random(places.length)] ?? 0
        const expected = tryParse(String(bytes))
        const value = await parseInPieces(bytes)
        seen[expected === undefined ? 'invalid' : 'valid'] += 1
        expect(JSON.stringify(value) === JSON.stringify(expected), `run ${run}, at ${at}`).toBe(true)
        if (expected === undefined) break
      }
    }
    console.info(`mistakes: seed ${SEED}, ${JSON.stringify(seen)}`)
    expect(seen.invalid).toBeGreaterThan(RUNS / 3)
    expect(seen.valid).toBeGreaterThan(RUNS / 3)
  })

  it('of which most is space is parsed as any other', async () => {
    const space = ' '.repeat(PIECE_BYTES)
    for (const text of [
      `{"a":1}${space}`,
      `${space}{"a":1}`,
      `{${space}"a":1}`,
      `{"a":[1${space}],"b":2}`,
      `[1]${space}`,
    ])
      expect(JSON.stringify(await parseInPieces(Buffer.from(text)))).toBe(JSON.stringify(JSON.parse(text)))
    expect(await parseInPieces(Buffer.from(`{"a":1}${space}x`))).toBeUndefined()
  })

  it.each([',', ',]', '1,,1]', '1]]', '{"a"}]', '"a":1]', '}'])(
    'with %s behind a large value stands for nothing',
    async (rest) => {
      const large = `"${'x'.repeat(PIECE_BYTES + 1)}"`
      expect((await parseInPieces(Buffer.from(`{"a":[${large}${rest}}`))) === undefined).toBe(true)
      expect((await parseInPieces(Buffer.from(`{"a":[${large},${rest}}`))) === undefined).toBe(true)
    },
  )
})

it('what has no value is left out of an object, and null in an array, as JSON.stringify does it', async () => {
  const values = fc.sample(fc.anything({ values: [fc.string(), fc.double(), fc.constant(undefined)] }), {
    numRuns: 60,
    seed: SEED,
  })
  for (const value of values) {
    const whole = { values: [value], large: 'д'.repeat(PIECE_BYTES) }
    expect(String(await writeInPieces(whole, 3 * PIECE_BYTES)) === JSON.stringify(whole)).toBe(true)
  }
})

it('others have their turns between the pieces', async () => {
  const text = JSON.stringify({ large: 'д'.repeat(4 * PIECE_BYTES), many: Array(4).fill('x'.repeat(PIECE_BYTES)) })
  let turns = 0
  let isOver = false
  const count = () => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const value = await parseInPieces(Buffer.from(text))
  expect(turns).toBeGreaterThan(12)
  turns = 0
  expect(String(await writeInPieces(value, text.length)) === text).toBe(true)
  isOver = true
  expect(turns).toBeGreaterThan(12)
})
