import { describe, expect, it } from 'vitest'
import { secureRandom } from '../lib/random-id.ts'
import { mintCodeText, readCodeText, shownCode } from './codes.ts'

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

describe('the text of a code', () => {
  it('is five groups of unambiguous random letters', () => {
    const texts = Array.from({ length: 1000 }, () => mintCodeText(secureRandom).text)
    for (const text of texts) expect(text).toMatch(/^MR(-[0-9A-HJKMNP-TV-Z]{5}){5}$/)
    expect(new Set(texts).size).toBe(1000)
  })

  it.each<[string, (text: string) => string]>([
    ['as it is', (text) => text],
    ['in small letters', (text) => text.toLowerCase()],
    ['without hyphens', (text) => text.replaceAll('-', '')],
    ['without its beginning', (text) => text.slice(3)],
    ['with spaces, tabs and ends of lines', (text) => ` ${text.replaceAll('-', ' \t')}\r\n`],
    ['with dashes that a word processor has made', (text) => text.replaceAll('-', '–')],
    ['with letters for the digits that look like them', (text) => text.replaceAll('0', 'O').replaceAll('1', 'l')],
  ])('is read %s', (_, write) => {
    for (let round = 0; round < 200; round++) {
      const { text, letters } = mintCodeText(secureRandom)
      expect(readCodeText(write(text))).toBe(letters)
    }
  })

  it('is detected as mistyped with one letter wrong, two swapped, one missing or one extra', () => {
    const { letters } = mintCodeText(secureRandom)
    for (let at = 0; at < letters.length; at++) {
      const [before, letter, after] = [letters.slice(0, at), letters[at]!, letters.slice(at + 1)]
      for (const other of ALPHABET) {
        if (other !== letter) expect(readCodeText(`MR${before}${other}${after}`)).toBeUndefined()
        expect(readCodeText(`MR${before}${other}${letter}${after}`)).toBeUndefined()
      }
      expect(readCodeText(`MR${before}${after}`)).toBeUndefined()
      for (let to = at + 1; to < letters.length; to++) {
        const swapped = [...letters]
        swapped[at] = letters[to]!
        swapped[to] = letter
        if (letters[to] !== letter) expect(readCodeText(swapped.join(''))).toBeUndefined()
      }
    }
  })

  it.each([
    '',
    'MR-',
    'MR',
    'hello',
    '\0'.repeat(25),
    'U'.repeat(25),
    '-'.repeat(1_000_000),
    'ı'.repeat(25),
    '😀'.repeat(12),
  ])('is not %j', (text) => {
    expect(readCodeText(text)).toBeUndefined()
  })

  it('is shown by its beginning and end', () => {
    expect(shownCode('MR-ABCDE-FGHJK-MNPQR-STVWX-YZ012')).toBe('MR-ABCDE...Z012')
  })
})
