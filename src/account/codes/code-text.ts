import type { RandomBytes } from '../../lib/random-id.ts'

/**
 * `MR-` and five groups of five letters: 24 random ones, 120 bits, and one that checks them. Crockford's alphabet has no I,
 * L, O or U; the first three are read as what they were meant to be.
 */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const PREFIX = 'MR'
const RANDOM_LETTERS = 24
const GROUP = /.{5}(?=.)/g
/** Spaces, hyphens and dashes, however somebody has typed or pasted them. */
const BETWEEN = /[\s\u2010-\u2015-]/g
/** Written with care a code has 31 characters; nothing that is much longer is one. */
const TEXT_MAX = 100

export interface CodeText {
  /** As it is handed out. */
  readonly text: string
  /** What its digest is made of. */
  readonly letters: string
}

export type ReadCode =
  | { readonly kind: 'code'; readonly letters: string }
  /** Certainly no code of anybody: a letter is wrong, missing or in the wrong place. */
  | { readonly kind: 'mistyped' }

export function mintCodeText(random: RandomBytes): CodeText {
  const values = [...random(RANDOM_LETTERS)].map((byte) => byte & 31)
  const letters = [...values, checkOf(values)].map((value) => ALPHABET[value]).join('')
  return { text: `${PREFIX}-${letters.replace(GROUP, '$&-')}`, letters }
}

export function readCodeText(text: string): ReadCode {
  if (text.length > TEXT_MAX) return { kind: 'mistyped' }
  const whole = text.replace(BETWEEN, '').toUpperCase()
  const hasPrefix = whole.length > RANDOM_LETTERS + 1 && whole.startsWith(PREFIX)
  const letters = (hasPrefix ? whole.slice(PREFIX.length) : whole).replaceAll('O', '0').replace(/[IL]/g, '1')
  const values = [...letters].map((letter) => ALPHABET.indexOf(letter))
  const fits = values.length === RANDOM_LETTERS + 1 && !values.includes(-1)
  return fits && checkOf(values.slice(0, -1)) === values.at(-1) ? { kind: 'code', letters } : { kind: 'mistyped' }
}

/** What a person recognises it by: too little to guess the rest from. */
export const shownCode = (text: string): string => `${text.slice(0, 8)}...${text.slice(-4)}`

/**
 * A sum in the field of 32 elements in which every place weighs otherwise, so that one wrong letter or two that changed
 * places never give the same. (With 31 weights there is room for 31 letters.)
 */
const checkOf = (values: readonly number[]): number => values.reduce((sum, value) => twice(sum ^ value), 0)

/** Times x, modulo x⁵ + x² + 1, of which x generates all elements but zero. */
const twice = (value: number): number => (value << 1) ^ (value & 16 ? 0b100101 : 0)
