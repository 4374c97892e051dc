import { z } from 'zod'
import { findUnseen, nearestName } from '../lib/text.ts'
import { formatPricePerMillion, type PicoPerToken, parsePricePerMillion, parseUsd } from '../model/money.ts'

/** The result of reading one value: the value, or what was expected and how to fix it. */
export type Reading<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly expected: string; readonly cure: string | undefined }

export const read = <Value>(value: Value): Reading<Value> => ({ ok: true, value })
export const wrong = (expected: string, cure?: string): Reading<never> => ({ ok: false, expected, cure })

/** Placeholder in a cure for the value as the file spells it: `3.00`, not `3`. */
export const AS_WRITTEN = '{as written}'

/** JSON Schema keywords for editors. Text may always be `${…}` instead. */
type EditorHints = Readonly<Record<string, unknown>>

/**
 * A value with its own reader, so that messages name `5h` or an amount instead of a type. The message never contains the
 * value: `checks.ts` quotes the file, because the value may come from a secret.
 */
export const scalar = <Value>(description: string, hints: EditorHints, reader: (value: unknown) => Reading<Value>) =>
  z
    .unknown()
    .transform((value, context): Value => {
      const reading = reader(value)
      if (reading.ok) return reading.value
      const { expected: message, cure } = reading
      context.issues.push({ code: 'custom', input: value, message, params: { cure } })
      return z.NEVER
    })
    .meta({ ...hints, description })

const VARIABLE = '\\$\\{.+\\}'

interface TextRules {
  readonly pattern?: RegExp
  /** The pattern, described. */
  readonly expected?: string
  readonly charactersMax?: number
}

export const text = (description: string, { pattern, expected = 'text', charactersMax = 4096 }: TextRules = {}) =>
  scalar(description, { type: 'string' }, (value) => {
    if (typeof value !== 'string') return wrong(expected, 'Write text; quote it if it looks like a number.')
    if (value === '') return wrong(expected, 'Leave the key out if it has no value.')
    if (value.length > charactersMax) return wrong(`${expected} of at most ${charactersMax} characters`)
    if (pattern !== undefined && !pattern.test(value)) return wrong(expected)
    const unseen = findUnseen(value)
    return unseen === undefined ? read(value) : wrong(`${expected} without ${unseen}, which is invisible`)
  })

/** `null` and the empty text of an unset `${NAME:-}` both mean no value. */
export const optionalText = (description: string, reader: (value: string) => Reading<string> = read) =>
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

type NumberRange = readonly [min: number, max: number]

const integerHints = ([min, max]: NumberRange, written: string): EditorHints => ({
  type: ['integer', 'string'],
  minimum: min,
  maximum: max,
  pattern: `^(${written}|${VARIABLE})$`,
})

export const integer = (description: string, range: NumberRange) =>
  scalar(description, integerHints(range, '\\d+'), (value) => readInteger(value, range))

/** `off` removes a limit that has a default. */
export const integerOrOff = (description: string, range: NumberRange) =>
  scalar<number | undefined>(description, integerHints(range, '\\d+|off'), (value) =>
    value === 'off' ? read(undefined) : readInteger(value, range, ', or off'),
  )

/** `auto` leaves the number to the server, which derives it from the machine. */
export const integerOrAuto = (description: string, range: NumberRange) =>
  scalar<number | 'auto'>(description, integerHints(range, '\\d+|auto'), (value) =>
    value === 'auto' ? read(value) : readInteger(value, range, ', or auto'),
  )

function readInteger(value: unknown, [min, max]: NumberRange, orElse = ''): Reading<number> {
  const number = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  if (typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max) return read(number)
  return wrong(`a whole number from ${min} to ${max}${orElse}`)
}

export const decimal = (description: string, [min, max]: NumberRange) =>
  scalar(
    description,
    { type: ['number', 'string'], minimum: min, maximum: max, pattern: `^([\\d.]+|${VARIABLE})$` },
    (value) => {
      const number = typeof value === 'string' && /^\d{1,9}(\.\d{1,9})?$/.test(value) ? Number(value) : value
      if (typeof number === 'number' && number >= min && number <= max) return read(number)
      return wrong(`a number from ${min} to ${max}`)
    },
  )

/** One of a closed list. `aliases` are read as the value they map to; for `mistakes` the error suggests the value. */
export function choice<const Choice extends string>(
  description: string,
  choices: readonly Choice[],
  aliases: Readonly<Record<string, Choice>> = {},
  mistakes: Readonly<Record<string, Choice>> = {},
) {
  const spelled = [...choices, ...Object.keys(aliases)]
  return scalar(description, { anyOf: [{ enum: spelled }, { type: 'string', pattern: VARIABLE }] }, (value) => {
    const found = choices.find((candidate) => candidate === value)
    if (found !== undefined) return read(found)
    if (typeof value !== 'string') return wrong(`one of ${spelled.join(', ')}`)
    const alias = Object.hasOwn(aliases, value) ? aliases[value] : undefined
    if (alias !== undefined) return read(alias)
    const near = Object.hasOwn(mistakes, value) ? mistakes[value] : nearestName(value, spelled)
    return wrong(`one of ${spelled.join(', ')}`, near === undefined ? undefined : `Did you mean ${near}?`)
  })
}

/** Bounds of a value with a unit, as the file spells them. */
type UnitRange = readonly [min: string, max: string]

/** Reads a whole number of base units within a range; undefined for anything else. */
function unitReader(parse: (value: unknown) => number | undefined, [min, max]: UnitRange) {
  const [low, high] = [parse(min)!, parse(max)!]
  return (value: unknown): Reading<number> | undefined => {
    const number = parse(value)
    return number !== undefined && Number.isInteger(number) && number >= low && number <= high
      ? read(number)
      : undefined
  }
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

export function parseDuration(written: unknown): number | undefined {
  if (written === 0) return 0
  const match = typeof written === 'string' ? /^(\d{1,9})(ms|s|m|h|d)$/.exec(written) : null
  return match ? Number(match[1]) * UNIT_MS[match[2]!]! : undefined
}

/** `30s`, `5h`, `100ms` to milliseconds. A number without a unit is an error, because its unit would be a guess. */
export const duration = (description: string, range: UnitRange) => {
  const reader = unitReader(parseDuration, range)
  const hints = { type: ['string', 'integer'], maximum: 0, pattern: `^(\\d+(ms|s|m|h|d)|${VARIABLE})$` }
  return scalar(description, hints, (value) => {
    const cure = typeof value === 'number' ? `Name the unit: ${value}s, ${value}ms or ${value}m.` : undefined
    const expected = `a duration from ${range[0]} to ${range[1]}, such as 100ms, 30s, 5m, 12h or 3d`
    return reader(value) ?? wrong(expected, cure)
  })
}

/** `off` removes a limit that has a default. */
export const durationOrOff = (description: string, range: UnitRange) => {
  const reader = unitReader(parseDuration, range)
  const hints = { type: 'string', pattern: `^(\\d+(ms|s|m|h|d)|off|${VARIABLE})$` }
  return scalar<number | undefined>(description, hints, (value) =>
    value === 'off'
      ? read(undefined)
      : (reader(value) ?? wrong(`a duration from ${range[0]} to ${range[1]}, such as 100ms or 30s, or off`)),
  )
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

function parseSize(written: unknown): number | undefined {
  if (typeof written === 'number') return written
  const match = typeof written === 'string' ? /^(\d{1,12}) ?(B|KB|MB|GB|KiB|MiB|GiB)?$/.exec(written) : null
  return match ? Number(match[1]) * UNIT_BYTES[match[2] ?? 'B']! : undefined
}

const sizeHints = (also: string): EditorHints => ({
  type: ['string', 'integer'],
  pattern: `^(\\d+ ?(B|KB|MB|GB|KiB|MiB|GiB)?|${also}${VARIABLE})$`,
})

/** `32MiB` or a plain number of bytes. */
export const size = (description: string, range: UnitRange) => {
  const reader = unitReader(parseSize, range)
  const expected = `a size from ${range[0]} to ${range[1]}, such as 16KiB or 32MiB, or a number of bytes`
  return scalar(description, sizeHints(''), (value) => reader(value) ?? wrong(expected))
}

/** `auto` leaves the size to the server, which derives it from the machine. */
export const sizeOrAuto = (description: string, range: UnitRange) => {
  const reader = unitReader(parseSize, range)
  const expected = `a size from ${range[0]} to ${range[1]}, such as 512MiB, a number of bytes, or auto`
  return scalar<number | undefined>(description, sizeHints('auto|'), (value) =>
    value === 'auto' ? read(undefined) : (reader(value) ?? wrong(expected)),
  )
}

/** No model has cost more than this per million tokens: a higher price is in another unit. */
const PRICE_MAX = parsePricePerMillion('10000')!
/** A lower price that is not zero is a price per token. */
const PRICE_MIN = parsePricePerMillion('0.0001')!
/** A price per token usually has more decimals than a price per million may have. */
const PER_TOKEN = /^0?\.0{3}\d{4,}$/

const MONEY_HINTS = { type: 'string', pattern: '^(\\d+(\\.\\d+)?|\\$\\{.+\\})$' }
const QUOTE_IT = `Quote it: "${AS_WRITTEN}". A YAML number can lose digits.`

export const price = (description: string) =>
  scalar(
    `${description}, in USD per million tokens, as quoted text.`,
    { ...MONEY_HINTS, examples: ['3.00'] },
    readPrice,
  )

function readPrice(value: unknown): Reading<PicoPerToken> {
  const expected = 'a price in USD per million tokens, as quoted text such as "3.00"'
  if (typeof value === 'number') return wrong(expected, QUOTE_IT)
  const parsed = typeof value === 'string' ? parsePricePerMillion(value) : undefined
  const isPerToken =
    parsed === undefined ? typeof value === 'string' && PER_TOKEN.test(value) : parsed !== 0n && parsed < PRICE_MIN
  if (isPerToken) {
    const cure = 'This looks like a price per token. The unit is USD per million tokens: "3.00", not "0.000003".'
    return wrong(expected, cure)
  }
  if (parsed === undefined) {
    return wrong(expected, 'Digits with at most 6 decimals, no sign, no currency, no comma. Free is "0".')
  }
  if (parsed > PRICE_MAX) {
    return wrong(expected, `At most "${formatPricePerMillion(PRICE_MAX)}". The unit is USD per million tokens.`)
  }
  return read(parsed)
}

export const usd = (description: string, max: string) =>
  scalar(`${description}, in USD, as quoted text.`, { ...MONEY_HINTS, examples: ['12.00'] }, (value) => {
    const expected = `an amount in USD from "0" to "${max}", as quoted text such as "12.00"`
    if (typeof value === 'number') return wrong(expected, QUOTE_IT)
    const amount = typeof value === 'string' ? parseUsd(value) : undefined
    if (amount === undefined || amount < 0n || amount > parseUsd(max)!) {
      return wrong(expected, 'Digits with at most 9 decimals, no sign, no currency, no comma.')
    }
    return read(amount)
  })

/** `"1.5"` as parts per million. */
export const factor = (description: string) =>
  scalar(description, MONEY_HINTS, (value) => {
    const expected = 'a factor from "0.000001" to "1000", as quoted text such as "2.0"'
    if (typeof value === 'number') return wrong(expected, `Quote it: "${AS_WRITTEN}".`)
    const ppm = typeof value === 'string' ? (parsePricePerMillion(value) as bigint | undefined) : undefined
    return ppm === undefined || ppm === 0n || ppm > 1_000_000_000n ? wrong(expected) : read(ppm)
  })

/** A map with known keys only. */
export const section = <Shape extends z.ZodRawShape>(description: string, shape: Shape) =>
  z.strictObject(shape).meta({ description })

/** A list that is empty when the key is absent. */
export const list = <Item extends z.ZodType>(description: string, item: Item) =>
  z.array(item).meta({ description }).prefault([])
