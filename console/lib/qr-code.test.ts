import { describe, expect, it } from 'vitest'
import { correctionOf, encodeQr, qrPath } from './qr-code.ts'

const drawn = (text: string) => encodeQr(text).map((row) => row.map((isDark) => (isDark ? '#' : '.')).join(''))
const digestOf = async (text: string) => {
  const bits = drawn(text).join('\n').replaceAll('#', '1').replaceAll('.', '0')
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(bits))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
const varied = (length: number) =>
  Array.from({ length }, (_, at) => 'otpauth:/TP?secret=é'[(at * 7 + length) % 19]).join('')

describe('a QR code', () => {
  it('has the error correction of the known example (HELLO WORLD, version 1, level M)', () => {
    const data = [32, 91, 11, 120, 209, 114, 220, 77, 67, 64, 236, 17, 236, 17, 236, 17]
    expect(correctionOf(data, 10)).toEqual([196, 35, 39, 119, 235, 215, 231, 226, 93, 23])
  })

  it('of one letter is drawn module by module as another encoder draws it', () => {
    expect(drawn('a')).toEqual([
      '#######.#.###.#######',
      '#.....#...##..#.....#',
      '#.###.#.##.#..#.###.#',
      '#.###.#.##..#.#.###.#',
      '#.###.#.#..#..#.###.#',
      '#.....#..####.#.....#',
      '#######.#.#.#.#######',
      '...........##........',
      '####..#.######..###.#',
      '###.#.....#####..#...',
      '#....#####.#.....##.#',
      '##..#......#..#####..',
      '####.######.#..#..#..',
      '........#..#..#..#...',
      '#######....##..#.#...',
      '#.....#..##....##.##.',
      '#.###.#.....#####...#',
      '#.###.#.##.#..######.',
      '#.###.#.#.#.#.##.....',
      '#.....#.#....#.#..#.#',
      '#######.##...#..#....',
    ])
  })

  // Other encoders draw the same modules, and a scanner reads them: checked with qrcode 1.5 and jsqr 1.4 for 24 lengths.
  it.each([
    [
      'otpauth://totp/Millrace:ann%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Millrace',
      '225f7228a6105d4ce3ce6142283e103bed31d631cb6f49ba19d3ec16247d89d7',
    ],
    // Several blocks, the pattern of the version, and a length of two bytes.
    [varied(300), '74871dd0c90acf4ce1a8f2b242e1e3f6e952bdc03b1daf536dc4de15c3dc9948'],
  ])('of %s is as known', async (text, digest) => {
    expect(await digestOf(text)).toBe(digest)
  })

  it('grows with its text, up to 858 bytes', () => {
    expect([17, 18, 271, 272, 858].map((length) => encodeQr('a'.repeat(length)).length)).toEqual([21, 25, 57, 61, 97])
    expect(() => encodeQr('a'.repeat(859))).toThrow(RangeError)
  })

  it('is one path, with a square for each dark module', () => {
    const dark = drawn('a').join('').replaceAll('.', '').length
    expect(qrPath(encodeQr('a')).match(/M\d+ \d+h1v1h-1z/g)).toHaveLength(dark)
  })
})
