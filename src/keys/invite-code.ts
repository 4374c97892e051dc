import { encodeBase32, type RandomBytes } from '../lib/random-id.ts'

/** 120 bits are 24 letters: nobody guesses one, and a person can type it. */
const BYTES = 15
const LETTERS = 24
const LETTERS_IN_A_GROUP = /.{4}(?=.)/g
/** Longer text is not even looked at. */
const TEXT_LENGTH_MAX = 100

/** `K4J7-9XQM-…`: no letter looks like another one, and case does not matter. */
export const mintInviteCode = (random: RandomBytes): string =>
  encodeBase32(random(BYTES)).toUpperCase().replace(LETTERS_IN_A_GROUP, '$&-')

/** The letters of a code as it was minted, however it was typed; undefined for what is none. */
export function readInviteCode(text: string): string | undefined {
  if (text.length > TEXT_LENGTH_MAX) return undefined
  const letters = text.toUpperCase().replace(/[\s-]/g, '').replaceAll('O', '0').replace(/[IL]/g, '1')
  return letters.length === LETTERS && /^[0-9A-HJKMNP-TV-Z]+$/.test(letters) ? letters : undefined
}
