import type { Brand } from '../lib/types.ts'

/** Whole nano-dollars (10⁻⁹ USD). Micro-dollars would round a 20-token request up to twice its price. */
export type NanoUsd = Brand<bigint, 'nano-usd'>

/** Prices are whole pico-dollars per token: the same number as micro-dollars per million tokens. */
export type PicoPerToken = Brand<bigint, 'pico-per-token'>

export const ZERO = 0n as NanoUsd

const NANO_PER_USD = 1_000_000_000n
const PICO_PER_NANO = 1000n

export const dollars = (count: bigint): NanoUsd => (count * NANO_PER_USD) as NanoUsd

/** Close to the end of int64, in which rows keep nano-dollars. */
export const NANO_MAX = dollars(9_000_000_000n)

/** `"12.50"` to nano-dollars, exactly. Undefined for anything that is not a plain decimal of at most nine places. */
export function parseUsd(text: string): NanoUsd | undefined {
  const match = /^(-?)(\d{1,10})(?:\.(\d{1,9}))?$/.exec(text)
  if (!match) return undefined
  const [, sign, whole, fraction = ''] = match
  const amount = BigInt(whole!) * NANO_PER_USD + BigInt(fraction.padEnd(9, '0'))
  if (amount > NANO_MAX) return undefined
  return (sign === '-' ? -amount : amount) as NanoUsd
}

/** Formats amounts with so many decimal places: writes at least two of them, and no trailing zeros after those. */
const formatDecimal =
  (places: number) =>
  (amount: bigint): string => {
    const digits = String(amount < 0n ? -amount : amount).padStart(places + 1, '0')
    const fraction = digits.slice(-places).replace(/0+$/, '').padEnd(2, '0')
    return `${amount < 0n ? '-' : ''}${digits.slice(0, -places)}.${fraction}`
  }

/** Nano-dollars as an exact decimal string. */
export const formatUsd = formatDecimal(9)

/** An amount in a sentence. */
export const inUsd = (amount: bigint): string => `${formatUsd(amount)} USD`

/** Pico-dollars as an exact decimal string: a line of a price before the one rounding. */
export const formatPico = formatDecimal(12)

/** `"3.00"` USD per million tokens to pico-dollars per token; six places at most, so that it is exact. */
export function parsePricePerMillion(text: string): PicoPerToken | undefined {
  const match = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(text)
  if (!match) return undefined
  const [, whole, fraction = ''] = match
  return (BigInt(whole!) * 1_000_000n + BigInt(fraction.padEnd(6, '0'))) as PicoPerToken
}

export const formatPricePerMillion = formatDecimal(6)

/** Pico to nano, rounded up: the one rounding of a request, at the very end. */
export function nanoFromPico(pico: bigint): NanoUsd {
  const nano = pico / PICO_PER_NANO
  return (pico % PICO_PER_NANO > 0n ? nano + 1n : nano) as NanoUsd
}

export const picoFromNano = (nano: bigint): bigint => nano * PICO_PER_NANO
