import { createTurnstile } from '../../lib/async.ts'
import type { JsonMember } from '../../model/turn.ts'
import { skipString } from './bytes.ts'

export interface JsonBounds {
  readonly depthMax: number
  readonly valuesMax: number
}

export type JsonScan =
  | {
      readonly kind: 'scanned'
      readonly members: readonly JsonMember[]
      /** What the values take in the heap once they are parsed, beside the characters of their strings. */
      readonly valueBytes: number
      /** Where the values begin and end that are longer than a piece (`protocols/json/in-pieces.ts`). */
      readonly large: ReadonlyMap<number, number>
    }
  | { readonly kind: 'not-an-object' }
  | { readonly kind: 'too-deep' }
  | { readonly kind: 'too-many-values' }
  /** The bytes end inside the outermost object, or a bracket closes what was not open: JSON.parse will refuse them too. */
  | { readonly kind: 'broken'; readonly offset: number }

/** Real requests have some dozen fields; recording a million of them would cost more than the bound on values saves. */
const OUTER_MEMBERS_MAX = 4096
/** Objects of a million different names keep JSON.parse busy for a second; a hundred thousand cost about a tenth. */
const NAMES_MAX = 100_000

/**
 * What a parsed value takes in V8's heap, in bytes, rounded up. An empty array takes 43 and one in another 58, an empty
 * object 67; `value-bytes.test.ts` measures every kind. A name is counted as one that no other object has: such
 * objects become dictionaries.
 */
const ARRAY_BYTES = 64
const OBJECT_BYTES = 72
const NAME_BYTES = 120
const STRING_BYTES = 48
const SCALAR_BYTES = 16

const QUOTE = 0x22
const OPEN_BRACE = 0x7b

const SPACE = 1
const STRING = 2
const OPEN = 3
const CLOSE = 4
const COMMA = 5
const COLON = 6

/** What a byte between tokens means; 0 is the start, or another byte, of a number or a word. */
const classes = new Uint8Array(256)
for (const byte of Buffer.from(' \t\n\r')) classes[byte] = SPACE
classes[QUOTE] = STRING
for (const byte of Buffer.from('{[')) classes[byte] = OPEN
for (const byte of Buffer.from('}]')) classes[byte] = CLOSE
classes[0x2c] = COMMA
classes[0x3a] = COLON

/** Brackets pair by 2: `[` and `]` are 0x5b and 0x5d, `{` and `}` are 0x7b and 0x7d. */
const closerOf = (opener: number): number => opener + 2

/**
 * One pass before any JSON.parse: bounds depth and number of values, and records where the members of the outermost
 * object stand. It does not check the whole grammar; for every text that JSON.parse accepts the offsets are exact.
 */
export function scanJson(bytes: Buffer, bounds: JsonBounds): JsonScan {
  const scan = advanceScan(bytes, bounds, beginScan(bytes), Number.POSITIVE_INFINITY)
  if (scan === undefined) throw new Error('a scan without a pause must come to its end')
  return scan
}

/** The same of a large text, with a pause after each piece, in which other work is done. */
export async function scanInPieces(
  bytes: Buffer,
  bounds: JsonBounds,
  { pieceBytes, pause }: { readonly pieceBytes: number; pause(): Promise<unknown> | undefined },
): Promise<JsonScan> {
  const state = beginScan(bytes)
  for (let pauseAt = pieceBytes; ; pauseAt += pieceBytes) {
    const scan = advanceScan(bytes, bounds, state, pauseAt)
    if (scan !== undefined) return scan
    await pause()
  }
}

/** Where a scan stands between two pieces. */
interface ScanState {
  readonly outer: OuterObject
  readonly closers: number[]
  /** Where the open values begin, by their depth. */
  readonly starts: number[]
  readonly large: Map<number, number>
  offset: number
  depth: number
  values: number
  names: number
  valueBytes: number
  /** A string here is a name: behind `{`, and behind a comma in an object. */
  awaitsName: boolean
}

const beginScan = (bytes: Buffer): ScanState => ({
  outer: new OuterObject(bytes),
  closers: [],
  starts: [],
  large: new Map(),
  offset: 0,
  depth: 0,
  values: 0,
  names: 0,
  valueBytes: 0,
  awaitsName: false,
})

/** Goes on until the result is known, or undefined when `pauseAt` was reached before. The state is used up by a result. */
function advanceScan(
  bytes: Buffer,
  { depthMax, valuesMax }: JsonBounds,
  state: ScanState,
  pauseAt: number,
): JsonScan | undefined {
  const end = bytes.length
  const pieceEnd = Math.min(end, pauseAt)
  const { outer, closers, starts, large } = state
  let { offset, depth, values, names, valueBytes, awaitsName } = state

  if (depth === 0) {
    offset = skipSpace(bytes, offset, pieceEnd)
    if (offset < end && offset >= pieceEnd) {
      state.offset = offset
      return undefined
    }
    if (bytes[offset] !== OPEN_BRACE) return { kind: 'not-an-object' }
  }
  while (offset < pieceEnd) {
    const byte = bytes[offset]!
    switch (classes[byte]) {
      case SPACE:
        offset = skipSpace(bytes, offset + 1, pieceEnd)
        break
      case COLON:
        offset += 1
        break
      case STRING: {
        const stringEnd = skipString(bytes, offset)
        if (stringEnd < 0) return { kind: 'broken', offset: end }
        if (awaitsName) {
          if (++names > NAMES_MAX) return { kind: 'too-many-values' }
          valueBytes += NAME_BYTES
          if (depth === 1) outer.name(offset, stringEnd)
          awaitsName = false
        } else {
          if (++values > valuesMax) return { kind: 'too-many-values' }
          valueBytes += STRING_BYTES
          if (depth === 1) outer.value(offset, stringEnd)
          if (stringEnd - offset > PIECE_BYTES) large.set(offset, stringEnd)
        }
        offset = stringEnd
        break
      }
      case OPEN:
        if (++values > valuesMax) return { kind: 'too-many-values' }
        if (++depth > depthMax) return { kind: 'too-deep' }
        closers[depth] = closerOf(byte)
        starts[depth] = offset
        awaitsName = byte === OPEN_BRACE
        valueBytes += awaitsName ? OBJECT_BYTES : ARRAY_BYTES
        offset += 1
        break
      case CLOSE:
        if (closers[depth] !== byte) return { kind: 'broken', offset }
        offset += 1
        awaitsName = false
        if (offset - starts[depth]! > PIECE_BYTES) large.set(starts[depth]!, offset)
        if (--depth === 1) outer.value(starts[2]!, offset)
        if (depth === 0) return { kind: 'scanned', members: outer.members, valueBytes, large }
        break
      case COMMA:
        awaitsName = closers[depth] === closerOf(OPEN_BRACE)
        if (outer.members.length > OUTER_MEMBERS_MAX) return { kind: 'too-many-values' }
        offset += 1
        break
      default: {
        const scalarEnd = endOfScalar(bytes, offset)
        if (++values > valuesMax) return { kind: 'too-many-values' }
        valueBytes += SCALAR_BYTES
        if (depth === 1) outer.value(offset, scalarEnd)
        offset = scalarEnd
      }
    }
  }
  if (offset >= end) return { kind: 'broken', offset: end }
  Object.assign(state, { offset, depth, values, names, valueBytes, awaitsName })
  return undefined
}

/** Puts names and values of the outermost object together. */
class OuterObject {
  readonly members: JsonMember[] = []
  readonly #bytes: Buffer
  #nameStart = -1
  #nameEnd = -1

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  name(start: number, end: number): void {
    this.#nameStart = start
    this.#nameEnd = end
  }

  value(start: number, end: number): void {
    if (this.#nameStart < 0) return
    const raw = this.#bytes.toString('utf8', this.#nameStart + 1, this.#nameEnd - 1)
    const escaped = raw.includes('\\')
    this.members.push({
      name: escaped ? decodeName(raw) : raw,
      escaped,
      nameStart: this.#nameStart,
      valueStart: start,
      valueEnd: end,
    })
    this.#nameStart = -1
  }
}

/** An impossible escape stays as it stands: JSON.parse refuses the whole text later. */
function decodeName(raw: string): string {
  try {
    return JSON.parse(`"${raw}"`) as string
  } catch {
    return raw
  }
}

/** A loop of its own: a body that is nothing but space costs half as much. */
function skipSpace(bytes: Buffer, start: number, end: number): number {
  let offset = start
  while (offset < end && classes[bytes[offset]!] === SPACE) offset += 1
  return offset
}

function endOfScalar(bytes: Buffer, start: number): number {
  const end = bytes.length
  let offset = start + 1
  while (offset < end && classes[bytes[offset]!] === 0) offset += 1
  return offset
}

/** For a part of a body that was bounded as a whole at the door: what is inside it is bounded too. */
export const INNER_BOUNDS: JsonBounds = { depthMax: 100_000, valuesMax: Number.MAX_SAFE_INTEGER }

/**
 * The state of JSON that arrives in pieces. `empty`: only white space so far. `cut`: incomplete, but more text can complete it.
 * `whole`: valid JSON. `broken`: no more text can make it valid. A number counts as whole as soon as it could end.
 */
export type JsonState = 'empty' | 'cut' | 'whole' | 'broken'

/** What the grammar allows next, between two tokens. */
type Expected = 'value' | 'value-or-end' | 'key' | 'key-or-end' | 'colon' | 'comma-or-end' | 'nothing'

/** How far a number has come, and what each of its characters makes of that. */
type NumberState = 'minus' | 'zero' | 'integer' | 'point' | 'fraction' | 'e' | 'sign' | 'exponent'
type Step = readonly [characters: string, next: NumberState]

const DIGITS = '0123456789'
const TO_EXPONENT: Step = ['eE', 'e']
const NUMBER_STEPS: Readonly<Record<NumberState, readonly Step[]>> = {
  minus: [
    ['0', 'zero'],
    [DIGITS, 'integer'],
  ],
  zero: [['.', 'point'], TO_EXPONENT],
  integer: [[DIGITS, 'integer'], ['.', 'point'], TO_EXPONENT],
  point: [[DIGITS, 'fraction']],
  fraction: [[DIGITS, 'fraction'], TO_EXPONENT],
  e: [
    [DIGITS, 'exponent'],
    ['+-', 'sign'],
  ],
  sign: [[DIGITS, 'exponent']],
  exponent: [[DIGITS, 'exponent']],
}
const WHOLE_NUMBERS: readonly NumberState[] = ['zero', 'integer', 'fraction', 'exponent']
const IN_NUMBER = /[-+.\deE]/
const IN_WORD = /[a-z]/
const WORDS = ['true', 'false', 'null']
const HEX = /[\da-fA-F]/
const ESCAPES = '"\\/bfnrtu'
const WHITESPACE = ' \t\n\r'

/** Checks JSON while it arrives, and keeps none of it but the word that it is in. */
export class JsonProgress {
  #expected: Expected = 'value'
  /** Open brackets, outermost first. */
  readonly #open: ('{' | '[')[] = []
  #token: 'key' | 'string' | 'number' | 'word' | undefined
  #number: NumberState = 'minus'
  /** The word so far. */
  #text = ''
  /** Characters that an escape still lacks: ANY_ESCAPE right after the backslash, then the digits of `\u`. */
  #escape = 0
  #isBroken = false

  feed(text: string): void {
    for (let at = 0; at < text.length && !this.#isBroken; at++) {
      const char = text[at]!
      if (this.#token === 'string' || this.#token === 'key') this.#feedString(char)
      else if (this.#token === undefined || !this.#goesOn(char)) this.#feedBetween(char)
    }
  }

  get state(): JsonState {
    if (this.#isBroken) return 'broken'
    if (this.#open.length > 0 || this.#token === 'string') return 'cut'
    if (this.#token === undefined) return this.#expected === 'nothing' ? 'whole' : 'empty'
    return this.#isTokenWhole() ? 'whole' : 'cut'
  }

  #feedString(char: string): void {
    if (this.#escape === ANY_ESCAPE) {
      this.#escape = char === 'u' ? 4 : 0
      this.#isBroken = !ESCAPES.includes(char)
    } else if (this.#escape > 0) {
      this.#escape -= 1
      this.#isBroken = !HEX.test(char)
    } else if (char === '\\') this.#escape = ANY_ESCAPE
    else if (char === '"') this.#endToken()
    else if (char < ' ') this.#isBroken = true
  }

  /** Whether the character continues the number or literal; if not, the token ends here. */
  #goesOn(char: string): boolean {
    if ((this.#token === 'number' ? IN_NUMBER : IN_WORD).test(char)) {
      if (this.#token === 'number') this.#feedNumber(char)
      else this.#feedWord(char)
      return true
    }
    if (this.#isTokenWhole()) this.#endToken()
    else this.#isBroken = true
    return this.#isBroken
  }

  #isTokenWhole(): boolean {
    return this.#token === 'number' ? WHOLE_NUMBERS.includes(this.#number) : WORDS.includes(this.#text)
  }

  #feedNumber(char: string): void {
    const step = NUMBER_STEPS[this.#number].find(([characters]) => characters.includes(char))
    if (step === undefined) this.#isBroken = true
    else this.#number = step[1]
  }

  #feedWord(char: string): void {
    this.#text += char
    this.#isBroken = !WORDS.some((word) => word.startsWith(this.#text))
  }

  #endToken(): void {
    if (this.#token === 'key') this.#expected = 'colon'
    else this.#endValue()
    this.#token = undefined
    this.#text = ''
  }

  #endValue(): void {
    this.#expected = this.#open.length === 0 ? 'nothing' : 'comma-or-end'
  }

  #feedBetween(char: string): void {
    if (WHITESPACE.includes(char)) return
    const expected = this.#expected
    const wantsValue = expected === 'value' || expected === 'value-or-end'
    const wantsKey = expected === 'key' || expected === 'key-or-end'
    if (char === '"' && (wantsValue || wantsKey)) this.#token = wantsKey ? 'key' : 'string'
    else if (char === '{' && wantsValue) this.#begin('{', 'key-or-end')
    else if (char === '[' && wantsValue) this.#begin('[', 'value-or-end')
    else if (char === '}' && (expected === 'key-or-end' || expected === 'comma-or-end')) this.#end('{')
    else if (char === ']' && (expected === 'value-or-end' || expected === 'comma-or-end')) this.#end('[')
    else if (char === ':' && expected === 'colon') this.#expected = 'value'
    else if (char === ',' && expected === 'comma-or-end') this.#expected = this.#open.at(-1) === '{' ? 'key' : 'value'
    else if (wantsValue && (char === '-' || DIGITS.includes(char))) this.#beginNumber(char)
    else if (wantsValue && IN_WORD.test(char)) this.#beginWord(char)
    else this.#isBroken = true
  }

  #begin(bracket: '{' | '[', expected: Expected): void {
    this.#open.push(bracket)
    this.#expected = expected
  }

  #end(bracket: '{' | '['): void {
    this.#isBroken = this.#open.pop() !== bracket
    this.#endValue()
  }

  #beginNumber(char: string): void {
    this.#token = 'number'
    this.#number = 'minus'
    if (char !== '-') this.#feedNumber(char)
  }

  #beginWord(char: string): void {
    this.#token = 'word'
    this.#feedWord(char)
  }
}

/** Right after a backslash: any escape may follow. */
const ANY_ESCAPE = 5

/** Parsed or written without a pause: a few milliseconds of the slowest text. */
export const PIECE_BYTES = 1024 * 1024

/** Of all bodies that are parsed or written in pieces, one piece runs in a turn of the event loop. */
export const passTurnstile = createTurnstile()

/** After a step that has gone through all of them: a large body gives way to others. */
export const pauseAfter = ({ length }: Buffer): Promise<void> | undefined =>
  length > PIECE_BYTES ? passTurnstile() : undefined
