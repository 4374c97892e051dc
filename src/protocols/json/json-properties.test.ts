import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { spliceMembers } from './bytes.ts'
import { scanInPieces, scanJson } from './scan-json.ts'
import { findJsonError } from './syntax.ts'

const seed = Number(process.hrtime.bigint() % 1_000_000_000n)
const bounds = { depthMax: 64, valuesMax: 1_000_000 }

/** Random JSON for the tests of this folder: objects, odd but valid spellings of them, and damaged texts. */
const names = fc.oneof(
  fc.constantFrom('model', 'stream', 'messages', '', 'a"b', 'back\\slash', 'ключ', '😀', '__proto_', 'tab\t'),
  fc.string({ unit: 'grapheme', maxLength: 8 }).filter((name) => name !== '__proto__'),
)

const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc
    .array(fc.constantFrom('"', '\\', '\\"', '{', '}', ',', ':', 'x'.repeat(33)), { maxLength: 30 })
    .map((parts) => parts.join('')),
)

const scalars = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
  fc.boolean(),
  fc.constant(null),
  texts,
)

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalars,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(names, tie('value'), { maxKeys: 4 }),
  ),
}))

const jsonObject = fc.dictionary(names, value, { maxKeys: 8 })

/** Numbers from 0 to 99 that decide about spaces and escapes. */
type Spelling = Iterator<number> & Iterable<number>

const escapeAll = (character: string) =>
  Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('')

/** The same value in one of its many valid spellings. */
function spell(input: unknown, dice: Spelling): string {
  const roll = () => Number(dice.next().value)
  const space = () => (roll() < 70 ? '' : ' \t\n\r'.repeat(1 + (roll() % 2)).slice(roll() % 4))
  const string = (text: string) =>
    `"${[
      ...JSON.stringify(text)
        .slice(1, -1)
        .matchAll(/\\u[0-9a-f]{4}|\\.|[\s\S]/gu),
    ]
      .map(([character]) => (character.startsWith('\\') || roll() >= 10 ? character : escapeAll(character)))
      .join('')}"`
  const write = (item: unknown): string => {
    if (typeof item === 'string') return string(item)
    if (Array.isArray(item)) return `[${space()}${item.map((one) => write(one) + space()).join(`,${space()}`)}]`
    if (typeof item === 'object' && item !== null) {
      const members = Object.entries(item).map(
        ([name, one]) => `${string(name)}${space()}:${space()}${write(one)}${space()}`,
      )
      return `{${space()}${members.join(`,${space()}`)}}`
    }
    return JSON.stringify(item)
  }
  return `${space()}${write(input)}${space()}`
}

/** Valid texts, texts with bytes changed, cut or added, and plain noise. */
const rubbishFrom = (objects: fc.Arbitrary<unknown>): fc.Arbitrary<Buffer> => {
  const whole = objects.map((object) => Buffer.from(JSON.stringify(object)))
  const byte = fc.oneof(fc.constantFrom(...Buffer.from('{}[],:"\\ -0.eE1tn')), fc.nat(255))
  return fc.oneof(
    whole,
    fc.tuple(whole, fc.nat(), byte).map(([bytes, at, put]) => {
      const copy = Buffer.from(bytes)
      copy[at % copy.length] = put
      return copy
    }),
    fc.tuple(whole, fc.nat()).map(([bytes, at]) => bytes.subarray(0, at % (bytes.length + 1))),
    fc
      .tuple(whole, whole, fc.nat())
      .map(([one, two, at]) => Buffer.concat([one.subarray(0, at % one.length), two, one.subarray(at % one.length)])),
    fc.array(byte, { maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  )
}

describe('scanJson, on random JSON', () => {
  it('finds every member of the outermost object, whatever the spelling', () => {
    const seen = { texts: 0, members: 0, escapedNames: 0, longStrings: 0 }
    fc.assert(
      fc.property(jsonObject, fc.infiniteStream(fc.nat(99)), (object, dice) => {
        const text = spell(object, dice as Spelling)
        const bytes = Buffer.from(text)
        const scan = scanJson(bytes, bounds)
        if (scan.kind !== 'scanned') throw new Error(`${scan.kind} for ${text}`)
        const found = Object.fromEntries(
          scan.members.map((member) => [
            member.name,
            JSON.parse(bytes.toString('utf8', member.valueStart, member.valueEnd)) as unknown,
          ]),
        )
        expect(found).toEqual(JSON.parse(text))
        for (const member of scan.members) {
          const name = bytes.toString('utf8', member.nameStart, bytes.indexOf('"', member.nameStart + 1))
          expect(name.startsWith('"')).toBe(true)
          if (!member.escaped) expect(name.slice(1)).toBe(member.name)
        }
        seen.texts += 1
        seen.members += scan.members.length
        seen.escapedNames += scan.members.filter((member) => member.escaped).length
        seen.longStrings += text.length > 200 ? 1 : 0
      }),
      { seed, numRuns: 1500 },
    )
    process.stdout.write(`seed ${seed}: ${JSON.stringify(seen)}\n`)
    expect(seen.escapedNames).toBeGreaterThan(50)
  })

  it('counts every value of valid JSON exactly, names not included', () => {
    const count = (value: unknown): number =>
      1 +
      (typeof value === 'object' && value !== null
        ? Object.values(value).reduce((sum: number, inner) => sum + count(inner), 0)
        : 0)
    fc.assert(
      fc.property(jsonObject, (object) => {
        const text = JSON.stringify(object)
        const values = count(JSON.parse(text))
        expect(scanJson(Buffer.from(text), { depthMax: 64, valuesMax: values }).kind).toBe('scanned')
        expect(scanJson(Buffer.from(text), { depthMax: 64, valuesMax: values - 1 }).kind).toBe('too-many-values')
      }),
      { seed, numRuns: 500 },
    )
  })

  it('never throws on rubbish, and calls broken only what JSON.parse refuses', () => {
    const kinds = new Map<string, number>()
    fc.assert(
      fc.property(rubbishFrom(jsonObject), (bytes) => {
        const { kind } = scanJson(bytes, bounds)
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
        if (kind === 'broken') expect(() => JSON.parse(bytes.toString())).toThrow()
      }),
      { seed, numRuns: 3000 },
    )
    process.stdout.write(`seed ${seed}: ${JSON.stringify([...kinds])}\n`)
  })

  it('comes to the same result in pieces, wherever it pauses', async () => {
    let pauses = 0
    const pause = () => {
      pauses++
      return undefined
    }
    await fc.assert(
      fc.asyncProperty(
        rubbishFrom(jsonObject),
        fc.nat(3),
        fc.integer({ min: 1, max: 20 }),
        async (text, spaces, pieceBytes) => {
          const bytes = Buffer.concat([Buffer.from(' \n\t '.slice(0, spaces)), text, Buffer.from('  ')])
          expect(await scanInPieces(bytes, bounds, { pieceBytes, pause })).toEqual(scanJson(bytes, bounds))
        },
      ),
      { seed, numRuns: 3000 },
    )
    process.stdout.write(`seed ${seed}: ${pauses} pauses\n`)
    expect(pauses).toBeGreaterThan(1000)
  })
})

describe('spliceMembers, on random JSON', () => {
  it('does to the bytes what the same change does to the object', () => {
    const seen = { replaced: 0, dropped: 0, appended: 0, emptied: 0 }
    fc.assert(
      fc.property(
        jsonObject,
        fc.infiniteStream(fc.nat(99)),
        fc.array(fc.constantFrom('replace', 'drop', 'keep'), { minLength: 8, maxLength: 8 }),
        fc.dictionary(fc.constantFrom('new', 'n"ew', 'model', 'äöü'), fc.jsonValue(), { maxKeys: 3 }),
        (object, dice, fates, additions) => {
          const text = spell(object, dice as Spelling)
          const bytes = Buffer.from(text)
          const expected = JSON.parse(text) as Record<string, unknown>
          const changes = new Map<string, Buffer | null>()
          for (const [index, name] of Object.keys(expected).entries()) {
            if (fates[index] === 'drop') {
              changes.set(name, null)
              delete expected[name]
              seen.dropped += 1
            } else if (fates[index] === 'replace') {
              changes.set(name, Buffer.from('{"x":[1]}'))
              expected[name] = { x: [1] }
              seen.replaced += 1
            }
          }
          for (const [name, value] of Object.entries(additions)) {
            changes.set(name, Buffer.from(JSON.stringify(value)))
            expected[name] = JSON.parse(JSON.stringify(value))
            seen.appended += 1
          }
          if (Object.keys(expected).length === 0) seen.emptied += 1
          const spliced = spliceMembers({ bytes, members: membersOf(bytes) }, changes).toString()
          expect(JSON.parse(spliced)).toEqual(expected)
        },
      ),
      { seed, numRuns: 1500 },
    )
    process.stdout.write(`seed ${seed}: ${JSON.stringify(seen)}\n`)
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(20)
  })
})

describe('findJsonError, on damaged JSON', () => {
  it('agrees with JSON.parse on what is JSON', () => {
    const seen = { valid: 0, broken: 0 }
    fc.assert(
      fc.property(rubbishFrom(jsonObject), (bytes) => {
        const text = bytes.toString('latin1').replace(/[\u0080-\u00ff]/g, '?')
        let valid = true
        try {
          JSON.parse(text)
        } catch {
          valid = false
        }
        seen[valid ? 'valid' : 'broken'] += 1
        expect(findJsonError(Buffer.from(text)) === undefined).toBe(valid)
      }),
      { seed, numRuns: 4000 },
    )
    process.stdout.write(`seed ${seed}: ${JSON.stringify(seen)}\n`)
    expect(Math.min(seen.valid, seen.broken)).toBeGreaterThan(200)
  })
})

function membersOf(bytes: Buffer) {
  const scan = scanJson(bytes, bounds)
  if (scan.kind !== 'scanned') throw new Error(`${scan.kind}: ${bytes}`)
  return scan.members
}
