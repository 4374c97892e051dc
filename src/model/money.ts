import type { Brand } from '../lib/brand.ts'

/** Money is a whole number of nano-dollars (10⁻⁹ USD). Micro would round a 20-token request up to twice its price. */
export type NanoUsd = Brand<bigint, 'nano-usd'>

/** Prices are whole pico-dollars per token: the same number as micro-dollars per million tokens. */
export type PicoPerToken = Brand<bigint, 'pico-per-token'>

export const ZERO = 0n as NanoUsd

const NANO_PER_USD = 1_000_000_000n
/** Beyond this an int64 of nano-dollars would be close to its end; nobody's wallet holds nine billion dollars. */
const NANO_MAX = 9_000_000_000n * NANO_PER_USD

export const ceilDiv = (dividend: bigint, divisor: bigint): bigint => {
  const quotient = dividend / divisor
  return dividend % divisor > 0n ? quotient + 1n : quotient
}

/** Math.min and Math.max do not take bigints. */
export function smallest<Amount extends bigint>(first: Amount, ...others: Amount[]): Amount {
  let found = first
  for (const amount of others) if (amount < found) found = amount
  return found
}

export function largest<Amount extends bigint>(first: Amount, ...others: Amount[]): Amount {
  let found = first
  for (const amount of others) if (amount > found) found = amount
  return found
}

/** `"12.50"` to nano-dollars, exactly. Undefined for anything that is not a plain decimal of at most nine places. */
export function parseUsd(text: string): NanoUsd | undefined {
  const match = /^(-?)(\d{1,10})(?:\.(\d{1,9}))?$/.exec(text)
  if (!match) return undefined
  const [, sign, whole, fraction = ''] = match
  const amount = BigInt(whole!) * NANO_PER_USD + BigInt(fraction.padEnd(9, '0'))
  if (amount > NANO_MAX) return undefined
  return (sign === '-' ? -amount : amount) as NanoUsd
}

/** Nano-dollars as an exact decimal string: two places at least, no zeros behind the last digit that counts. */
export function formatUsd(amount: bigint): string {
  const absolute = amount < 0n ? -amount : amount
  const whole = absolute / NANO_PER_USD
  const fraction = (absolute % NANO_PER_USD)
    .toString()
    .padStart(9, '0')
    .replace(/0{1,7}$/, '')
  return `${amount < 0n ? '-' : ''}${whole}.${fraction}`
}

/** Pico-dollars as an exact decimal string: what a line of a price adds up to before the one rounding. */
export function formatPico(amount: bigint): string {
  const fraction = (amount % 1_000_000_000_000n)
    .toString()
    .padStart(12, '0')
    .replace(/0{1,10}$/, '')
  return `${amount / 1_000_000_000_000n}.${fraction}`
}

/** `"3.00"` USD per million tokens to pico-dollars per token; six places at most, so that it is exact. */
export function parsePricePerMillion(text: string): PicoPerToken | undefined {
  const match = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(text)
  if (!match) return undefined
  const [, whole, fraction = ''] = match
  return (BigInt(whole!) * 1_000_000n + BigInt(fraction.padEnd(6, '0'))) as PicoPerToken
}

export function formatPricePerMillion(price: bigint): string {
  const fraction = (price % 1_000_000n)
    .toString()
    .padStart(6, '0')
    .replace(/0{1,4}$/, '')
  return `${price / 1_000_000n}.${fraction}`
}

/** Pico to nano, rounded up: the one rounding of a request, at the very end. */
export const nanoFromPico = (pico: bigint): NanoUsd => ceilDiv(pico, 1000n) as NanoUsd
