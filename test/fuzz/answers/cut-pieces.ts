import type { Dice } from '../streams/dice.ts'

const LF = 0x0a
const CR = 0x0d
const PIECES_MAX = 1500

/** Where a cut hurts: in a character, in an end of a line, between the two of an empty one. */
const isHostile = (bytes: Buffer, at: number): boolean =>
  (bytes[at]! & 0xc0) === 0x80 || bytes[at] === LF || (bytes[at - 1] === LF && bytes[at] === CR)

/** The pieces in which the bytes come. */
export function cutPieces(dice: Dice, bytes: Buffer): { cut: string; pieces: Buffer[] } {
  const { pick, random, onceIn, between } = dice
  const cut = onceIn(24) ? 'byte by byte' : pick(['whole', 'anywhere', 'where it hurts'] as const)
  const all = Array.from(bytes.keys()).slice(1)
  const placesOf: Readonly<Record<typeof cut, () => number[]>> = {
    whole: () => [],
    anywhere: () => Array.from({ length: between(1, 12) }, () => random(bytes.length)),
    'where it hurts': () => all.filter((at) => isHostile(bytes, at) && !onceIn(3)).slice(0, 60),
    'byte by byte': () => all.slice(0, PIECES_MAX),
  }
  const ends = [...new Set(placesOf[cut]())].filter((at) => at > 0).sort((one, other) => one - other)
  return { cut, pieces: [0, ...ends].map((start, at) => bytes.subarray(start, ends[at] ?? bytes.length)) }
}
