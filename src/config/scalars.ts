import { z } from 'zod'
import { findUnseen, nearestName } from '../lib/text.ts'
import { formatPricePerMillion, type PicoPerToken, parsePricePerMillion, parseUsd } from '../model/money.ts'

/** What a reader of one value says: the value, or what it expected and how to write it. */
export type Reading<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly expected: string; readonly cure: string | undefined }

export const read = <Value>(value: Value): Reading<Value> => ({ ok: true, value })
export const wrong = (expected: string, cure?: string): Reading<never> => ({ ok: false, expected, cure })

/** In a cure: the value as the file has it, `3.00` and not `3`. */
export const AS_WRITTEN = '{as written}'

/** How editors see a value: JSON Schema keywords. Text may always be `${…}` instead. */
type EditorHints = Readonly<Record<string, unknown>>

/**
 * A value with a reader of our own, so that messages speak of `5h` and of money and not of types. What was found is
 * added where the problem is written, from the file's own text: the value may have come out of a secret.
 */
export const scalar = <Value>(description: string, hints: EditorHints, reader: (value: unknown) => Reading<Value>) =>
  z
    .unknown()
    .transform((value, context): Value => {
      const reading = reader(value)
      if (reading.ok) return reading.value
      context.issues.push({
        code: 'custom',
        input: value,
        message: reading.expected,
        params: { cure: reading.cure },
      })
      return z.NEVER
    })
    .meta({ ...hints, description })

const VARIABLE = '\\$\\{.+\\}'

interface TextRules {
  readonly pattern?: RegExp
  /** What the pattern stands for, in words. */
  readonly expected?: string
  readonly cure?: string
  readonly charactersMax?: number
}

export function text(description: string, rules: TextRules = {}) {
  const { pattern, expected = 'text', cure, charactersMax = 4096 } = rules
  return scalar(description, { type: 'string' }, (value) => {
    if (typeof value !== 'string') return wrong(expected, cure ?? 'Write text; quote it if it looks like a number.')
    if (value === '') return wrong(expected, cure ?? 'Leave the key out if there is nothing to say.')
    if (value.length > charactersMax) return wrong(`${expected} of at most ${charactersMax} characters`, cure)
    if (pattern !== undefined && !pattern.test(value)) return wrong(expected, cure)
    const unseen = findUnseen(value)
    return unseen === undefined ? read(value) : wrong(`${expected} without ${unseen}, which nobody can see`, cure)
  })
}

/** Text or nothing: `null` and the empty text of an unset `${NAME:-}` both say nothing. */
export const maybeText = (description: string, reader: (value: string) => Reading<string> = read) =>
  scalar<string | undefined>(description, { type: ['string', 'null'] }, (value) => {
    if (value === null || value === '' || value === undefined) return read(undefined)
    return typeof value === 'string' ? reader(value) : wrong('text, or null', 'Quote it.')
  })

export const flag = (description: string) =>
  scalar(description, { type: ['boolean', 'string'], pattern: `^(true|false|${VARIABLE})$` }, (value) => {
    if (value === true || value === 'true') return read(true)
    if (value === false || value === 'false') return read(false)
    return wrong('true or false')
  })

interface NumberRange {
  readonly min: number
  readonly max: number
}

export const integer = (description: string, { min, max }: NumberRange) =>
  scalar(
    description,
    { type: ['integer', 'string'], minimum: min, maximum: max, pattern: `^(\\d+|${VARIABLE})$` },
    (value) => readInteger(value, { min, max }) ?? wrong(`a whole number from ${min} to ${max}`),
  )

/** `off` takes away a bound that is there by default. */
export const integerOrOff = (description: string, { min, max }: NumberRange) =>
  scalar<number | undefined>(
    description,
    { type: ['integer', 'string'], minimum: min, maximum: max, pattern: `^(\\d+|off|${VARIABLE})$` },
    (value) =>
      value === 'off'
        ? read(undefined)
        : (readInteger(value, { min, max }) ?? wrong(`a whole number from ${min} to ${max}, or off`)),
  )

function readInteger(value: unknown, { min, max }: NumberRange): Reading<number> | undefined {
  const number = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isInteger(number) || number < min || number > max) return undefined
  return read(number)
}

export const decimal = (description: string, { min, max }: NumberRange) =>
  scalar(
    description,
    { type: ['number', 'string'], minimum: min, maximum: max, pattern: `^([\\d.]+|${VARIABLE})$` },
    (value) => {
      const number = typeof value === 'string' && /^\d{1,9}(\.\d{1,9})?$/.test(value) ? Number(value) : value
      if (typeof number === 'number' && number >= min && number <= max) return read(number)
      return wrong(`a number from ${min} to ${max}`)
    },
  )

/** One word of a closed list. `aliases` are read as the word that they stand for; for `mistakes` the error suggests the word. */
export function word<const Word extends string>(
  description: string,
  words: readonly Word[],
  aliases: Readonly<Record<string, Word>> = {},
  mistakes: Readonly<Record<string, Word>> = {},
) {
  const spelled = [...words, ...Object.keys(aliases)]
  return scalar(description, { anyOf: [{ enum: spelled }, { type: 'string', pattern: VARIABLE }] }, (value) => {
    const found = words.find((candidate) => candidate === value)
    if (found !== undefined) return read(found)
    const alias = typeof value === 'string' && Object.hasOwn(aliases, value) ? aliases[value] : undefined
    return alias !== undefined
      ? read(alias)
      : wrong(`one of ${spelled.join(', ')}`, didYouMean(value, spelled, mistakes))
  })
}

function didYouMean(
  value: unknown,
  words: readonly string[],
  mistakes: Readonly<Record<string, string>>,
): string | undefined {
  if (typeof value !== 'string') return undefined
  const near = Object.hasOwn(mistakes, value) ? mistakes[value] : nearestName(value, words)
  return near === undefined ? undefined : `Did you mean ${near}?`
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

export function parseDuration(written: string): number | undefined {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(written)
  return match ? Number(match[1]) * UNIT_MS[match[2]!]! : undefined
}

/** `30s`, `5h`, `100ms` to milliseconds. A number without a unit is refused: half of its readers would guess wrong. */
export const duration = (description: string, { min, max }: { min: string; max: string }) => {
  const low = parseDuration(min)!
  const high = parseDuration(max)!
  const hints = { type: ['string', 'integer'], maximum: 0, pattern: `^(\\d+(ms|s|m|h|d)|${VARIABLE})$` }
  return scalar(description, hints, (value) => {
    const ms = value === 0 ? 0 : typeof value === 'string' ? parseDuration(value) : undefined
    if (ms !== undefined && ms >= low && ms <= high) return read(ms)
    const cure = typeof value === 'number' ? `Name the unit: ${value}s, ${value}ms or ${value}m.` : undefined
    return wrong(`a duration from ${min} to ${max}, such as 100ms, 30s, 5m, 12h or 3d`, cure)
  })
}

/** `off` takes away a bound that is there by default. */
export const durationOrOff = (description: string, range: { min: string; max: string }) => {
  const low = parseDuration(range.min)!
  const high = parseDuration(range.max)!
  const hints = { type: 'string', pattern: `^(\\d+(ms|s|m|h|d)|off|${VARIABLE})$` }
  return scalar<number | undefined>(description, hints, (value) => {
    if (value === 'off') return read(undefined)
    const ms = typeof value === 'string' ? parseDuration(value) : undefined
    if (ms !== undefined && ms >= low && ms <= high) return read(ms)
    return wrong(`a duration from ${range.min} to ${range.max}, such as 100ms or 30s, or off`)
  })
}

const UNIT_BYTES: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1000,
  MB: 1_000_000,
  GB: 1_000_000_000,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
}

function parseSize(written: string): number | undefined {
  const match = /^(\d{1,12}) ?(B|KB|MB|GB|KiB|MiB|GiB)?$/.exec(written)
  return match ? Number(match[1]) * UNIT_BYTES[match[2] ?? 'B']! : undefined
}

/** `32MiB` or a plain number of bytes. */
export const size = (description: string, { min, max }: { min: string; max: string }) => {
  const low = parseSize(min)!
  const high = parseSize(max)!
  const hints = { type: ['string', 'integer'], pattern: `^(\\d+ ?(B|KB|MB|GB|KiB|MiB|GiB)?|${VARIABLE})$` }
  return scalar(description, hints, (value) => {
    const bytes = typeof value === 'number' ? value : typeof value === 'string' ? parseSize(value) : undefined
    if (bytes !== undefined && Number.isInteger(bytes) && bytes >= low && bytes <= high) return read(bytes)
    return wrong(`a size from ${min} to ${max}, such as 16KiB or 32MiB, or a number of bytes`)
  })
}

/** `auto` leaves the size to be worked out where the server runs. */
export const sizeOrAuto = (description: string, { min, max }: { min: string; max: string }) => {
  const low = parseSize(min)!
  const high = parseSize(max)!
  const hints = { type: ['string', 'integer'], pattern: `^(\\d+ ?(B|KB|MB|GB|KiB|MiB|GiB)?|auto|${VARIABLE})$` }
  return scalar<number | undefined>(description, hints, (value) => {
    if (value === 'auto') return read(undefined)
    const bytes = typeof value === 'number' ? value : typeof value === 'string' ? parseSize(value) : undefined
    if (bytes !== undefined && Number.isInteger(bytes) && bytes >= low && bytes <= high) return read(bytes)
    return wrong(`a size from ${min} to ${max}, such as 512MiB, a number of bytes, or auto`)
  })
}

/** Dearer than any model ever was: somebody counted in another unit. */
const PRICE_MAX = parsePricePerMillion('10000')!
/** Cheaper than this, and not free, is a price per token that was copied from another list. */
const PRICE_MIN = parsePricePerMillion('0.0001')!

const HINTS = { type: 'string', pattern: '^(\\d+(\\.\\d+)?|\\$\\{.+\\})$' }

export const price = (description: string) =>
  scalar(`${description}, in USD per million tokens, as quoted text.`, { ...HINTS, examples: ['3.00'] }, readPrice)

function readPrice(value: unknown): Reading<PicoPerToken> {
  const expected = 'a price in USD per million tokens, as quoted text such as "3.00"'
  if (typeof value === 'number')
    return wrong(expected, `Quote it: "${AS_WRITTEN}". Numbers lose digits, money must not.`)
  const parsed = typeof value === 'string' ? parsePricePerMillion(value) : undefined
  if (isPerToken(value, parsed)) {
    return wrong(
      expected,
      'This looks like a price per token. The unit is USD per million tokens: "3.00", not "0.000003".',
    )
  }
  if (parsed === undefined) {
    return wrong(expected, 'Digits with at most 6 decimals, no sign, no currency, no comma. Free is "0".')
  }
  if (parsed > PRICE_MAX) {
    return wrong(expected, `At most "${formatPricePerMillion(PRICE_MAX)}". The unit is USD per million tokens.`)
  }
  return read(parsed)
}

/** Most prices per token have more decimals than a price per million may have. */
const FINE = /^0?\.0{3}\d{4,}$/

const isPerToken = (value: unknown, parsed: PicoPerToken | undefined): boolean =>
  parsed === undefined ? typeof value === 'string' && FINE.test(value) : parsed !== 0n && parsed < PRICE_MIN

export const usd = (description: string, max: string) =>
  scalar(`${description}, in USD, as quoted text.`, { ...HINTS, examples: ['12.00'] }, (value) => {
    const expected = `an amount in USD from "0" to "${max}", as quoted text such as "12.00"`
    if (typeof value === 'number')
      return wrong(expected, `Quote it: "${AS_WRITTEN}". Numbers lose digits, money must not.`)
    const amount = typeof value === 'string' ? parseUsd(value) : undefined
    if (amount === undefined || amount < 0n || amount > parseUsd(max)!) {
      return wrong(expected, 'Digits with at most 9 decimals, no sign, no currency, no comma.')
    }
    return read(amount)
  })

/** `"1.5"` as parts per million. */
export const factor = (description: string) =>
  scalar(description, HINTS, (value) => {
    const expected = 'a factor from "0.000001" to "1000", as quoted text such as "2.0"'
    if (typeof value === 'number') return wrong(expected, `Quote it: "${AS_WRITTEN}".`)
    const ppm = typeof value === 'string' ? (parsePricePerMillion(value) as bigint | undefined) : undefined
    return ppm === undefined || ppm === 0n || ppm > 1_000_000_000n ? wrong(expected) : read(ppm)
  })

/** A map with known keys only, that may be left out: each of its keys then stands at its own default. */
export const section = <Shape extends z.ZodRawShape>(description: string, shape: Shape) =>
  z.strictObject(shape).meta({ description })

/** A key of the file that may be left out altogether. */
export const list = <Item extends z.ZodType>(description: string, item: Item) =>
  z.array(item).meta({ description }).prefault([])
