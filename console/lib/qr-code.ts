/**
 * A QR code of a short text (ISO/IEC 18004): byte mode, error correction L, versions 1 to 20, which hold 858 bytes. Drawn here, because the
 * secret of an authenticator app must not leave the page.
 */

/** Per version: error correction codewords of a block, and blocks. */
const LEVEL_L: readonly (readonly [number, number])[] = [
  ...([
    [7, 1],
    [10, 1],
    [15, 1],
    [20, 1],
    [26, 1],
    [18, 2],
    [20, 2],
    [24, 2],
    [30, 2],
    [18, 4],
  ] as const),
  ...([
    [20, 4],
    [24, 4],
    [26, 4],
    [30, 4],
    [22, 6],
    [24, 6],
    [28, 6],
    [30, 6],
    [28, 7],
    [28, 8],
  ] as const),
]

/** Rows of modules; true is dark. */
export type QrMatrix = readonly (readonly boolean[])[]

export function encodeQr(text: string): QrMatrix {
  const bytes = new TextEncoder().encode(text)
  const version = LEVEL_L.findIndex((_, index) => bytes.length + headBytes(index + 1) <= dataCodewords(index + 1)) + 1
  if (version === 0) throw new RangeError(`${bytes.length} bytes are too many for a QR code`)
  const stream = withErrorCorrection(dataOf(bytes, version), version)
  const masked = Array.from({ length: 8 }, (_, mask) => drawMatrix(stream, version, mask))
  return masked.reduce((best, each) => (penaltyOf(each) < penaltyOf(best) ? each : best))
}

/** Mode and length take 12 bits, or 20 from version 10 on. */
const headBytes = (version: number): number => (version < 10 ? 2 : 3)

/** Modules that are neither patterns nor format, as whole codewords. */
function allCodewords(version: number): number {
  const aligned = version < 2 ? 0 : Math.floor(version / 7) + 2
  const modules = (16 * version + 128) * version + 64 - (aligned === 0 ? 0 : (25 * aligned - 10) * aligned - 55)
  return Math.floor((modules - (version < 7 ? 0 : 36)) / 8)
}

function dataCodewords(version: number): number {
  const [correction, blocks] = LEVEL_L[version - 1]!
  return allCodewords(version) - correction * blocks
}

function dataOf(bytes: Uint8Array, version: number): number[] {
  const bits: number[] = []
  const add = (value: number, length: number) => {
    for (let at = length - 1; at >= 0; at--) bits.push((value >> at) & 1)
  }
  add(0b0100, 4)
  add(bytes.length, version < 10 ? 8 : 16)
  for (const byte of bytes) add(byte, 8)
  const capacity = dataCodewords(version) * 8
  add(0, Math.min(4, capacity - bits.length))
  add(0, (8 - (bits.length % 8)) % 8)
  const words = Array.from({ length: bits.length / 8 }, (_, word) =>
    bits.slice(word * 8, word * 8 + 8).reduce((value, bit) => (value << 1) | bit, 0),
  )
  for (let pad = 0xec; words.length < capacity / 8; pad ^= 0xec ^ 0x11) words.push(pad)
  return words
}

/** In GF(256) with the polynomial 0x11d. */
function multiply(one: number, other: number): number {
  let product = 0
  for (let at = 7; at >= 0; at--) {
    product = (product << 1) ^ ((product >> 7) * 0x11d)
    product ^= ((other >> at) & 1) * one
  }
  return product
}

/** The coefficients below the highest of the product of (x - 2^i). */
function divisorOf(degree: number): number[] {
  const divisor = [...Array<number>(degree - 1).fill(0), 1]
  for (let factor = 0, root = 1; factor < degree; factor++, root = multiply(root, 2)) {
    for (let at = 0; at < degree; at++) divisor[at] = multiply(divisor[at]!, root) ^ (divisor[at + 1] ?? 0)
  }
  return divisor
}

/** The Reed-Solomon error correction codewords of a block. */
export function correctionOf(data: readonly number[], degree: number): number[] {
  const divisor = divisorOf(degree)
  const rest = Array<number>(degree).fill(0)
  for (const word of data) {
    const factor = word ^ rest.shift()!
    rest.push(0)
    for (let at = 0; at < degree; at++) rest[at]! ^= multiply(divisor[at]!, factor)
  }
  return rest
}

/** Blocks of nearly the same length, interleaved; the longer ones come last. */
function withErrorCorrection(data: readonly number[], version: number): number[] {
  const [degree, count] = LEVEL_L[version - 1]!
  const short = Math.floor(data.length / count)
  const shortBlocks = count - (data.length % count)
  let from = 0
  const blocks = Array.from({ length: count }, (_, block) => {
    const words = data.slice(from, from + short + (block < shortBlocks ? 0 : 1))
    from += words.length
    return { words, correction: correctionOf(words, degree) }
  })
  const interleave = (lists: readonly (readonly number[])[]) =>
    Array.from({ length: Math.max(...lists.map(({ length }) => length)) }, (_, at) =>
      lists.flatMap((list) => (list[at] === undefined ? [] : [list[at]])),
    ).flat()
  return [...interleave(blocks.map(({ words }) => words)), ...interleave(blocks.map(({ correction }) => correction))]
}

const MASKS: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
]

function drawMatrix(stream: readonly number[], version: number, mask: number): boolean[][] {
  const size = version * 4 + 17
  // Undefined: for data.
  const cells = Array.from({ length: size }, () => Array<boolean | undefined>(size).fill(undefined))
  drawPatterns(cells, version)
  drawFormat(cells, mask)
  const isData = cells.map((row) => row.map((cell) => cell === undefined))
  const bits = stream.flatMap((word) => [7, 6, 5, 4, 3, 2, 1, 0].map((at) => ((word >> at) & 1) === 1))
  let next = 0
  // Two columns at a time from the right, up and down in turn, without the column of the timing pattern.
  for (let right = size - 1, isUp = true; right >= 1; right -= right === 8 ? 3 : 2, isUp = !isUp) {
    for (let step = 0; step < size; step++) {
      const y = isUp ? size - 1 - step : step
      for (const x of [right, right - 1]) if (isData[y]![x]) cells[y]![x] = bits[next++] ?? false
    }
  }
  return cells.map((row, y) => row.map((cell, x) => (cell === true) !== (isData[y]![x]! && MASKS[mask]!(x, y))))
}

type Cells = (boolean | undefined)[][]

function drawPatterns(cells: Cells, version: number): void {
  const size = cells.length
  const set = (x: number, y: number, isDark: boolean) => {
    if (x >= 0 && y >= 0 && x < size && y < size) cells[y]![x] = isDark
  }
  for (let at = 0; at < size; at++) {
    set(6, at, at % 2 === 0)
    set(at, 6, at % 2 === 0)
  }
  const ring = (x: number, y: number, dx: number, dy: number) =>
    set(x + dx, y + dy, Math.max(Math.abs(dx), Math.abs(dy)) !== 1)
  const centers = alignmentCenters(version)
  const last = centers.length - 1
  for (const [i, y] of centers.entries()) {
    for (const [j, x] of centers.entries()) {
      if ((i === 0 && (j === 0 || j === last)) || (i === last && j === 0)) continue
      for (let dy = -2; dy <= 2; dy++) for (let dx = -2; dx <= 2; dx++) ring(x, y, dx, dy)
    }
  }
  for (const [x, y] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const) {
    for (let dy = -4; dy <= 4; dy++) {
      for (let dx = -4; dx <= 4; dx++) {
        const distance = Math.max(Math.abs(dx), Math.abs(dy))
        set(x + dx, y + dy, distance !== 2 && distance !== 4)
      }
    }
  }
  if (version < 7) return
  const bits = (version << 12) | remainderOf(version, 12, 0x1f25)
  for (let at = 0; at < 18; at++) {
    const isDark = ((bits >> at) & 1) === 1
    set(size - 11 + (at % 3), Math.floor(at / 3), isDark)
    set(Math.floor(at / 3), size - 11 + (at % 3), isDark)
  }
}

function alignmentCenters(version: number): number[] {
  if (version === 1) return []
  const count = Math.floor(version / 7) + 2
  const step = Math.ceil((version * 4 + 4) / (count * 2 - 2)) * 2
  const far = version * 4 + 10
  return [6, ...Array.from({ length: count - 1 }, (_, at) => far - (count - 2 - at) * step)]
}

/** Of a BCH code. */
function remainderOf(value: number, bits: number, polynomial: number): number {
  let rest = value
  for (let at = 0; at < bits; at++) rest = (rest << 1) ^ ((rest >> (bits - 1)) * polynomial)
  return rest
}

/** Level L is 01. */
function drawFormat(cells: Cells, mask: number): void {
  const size = cells.length
  const data = (0b01 << 3) | mask
  const bits = ((data << 10) | remainderOf(data, 10, 0x537)) ^ 0x5412
  const bit = (at: number) => ((bits >> at) & 1) === 1
  for (let at = 0; at < 15; at++) {
    const near = at < 6 ? at : at < 8 ? at + 1 : 14 - at
    if (at < 8) cells[near]![8] = bit(at)
    else cells[8]![at === 8 ? 7 : near] = bit(at)
    if (at < 8) cells[8]![size - 1 - at] = bit(at)
    else cells[size - 15 + at]![8] = bit(at)
  }
  cells[size - 8]![8] = true
}

/** How hard a scanner would find it; the mask with the lowest is taken. */
function penaltyOf(matrix: QrMatrix): number {
  const size = matrix.length
  const columns = matrix.map((_, x) => matrix.map((row) => row[x]!))
  let penalty = 0
  for (const line of [...matrix, ...columns]) {
    const text = line.map((isDark) => (isDark ? '1' : '0')).join('')
    for (const run of text.match(/0{5,}|1{5,}/g) ?? []) penalty += run.length - 2
    for (let at = 0; at + 11 <= size; at++) {
      const part = text.slice(at, at + 11)
      if (part === '10111010000' || part === '00001011101') penalty += 40
    }
  }
  for (let y = 0; y + 1 < size; y++) {
    for (let x = 0; x + 1 < size; x++) {
      const isDark = matrix[y]![x]
      if (isDark === matrix[y]![x + 1] && isDark === matrix[y + 1]![x] && isDark === matrix[y + 1]![x + 1]) penalty += 3
    }
  }
  const dark = matrix.flat().filter(Boolean).length
  return penalty + Math.floor(Math.abs((dark * 20) / (size * size) - 10)) * 10
}

/** A path for an SVG of the matrix's size in modules. */
export const qrPath = (matrix: QrMatrix): string =>
  matrix.map((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')).join('')).join('')
