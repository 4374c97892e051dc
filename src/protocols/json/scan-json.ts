import { createTurnstile } from '../../lib/async.ts'
import type { JsonMember } from '../../model/turn.ts'
import { skipString, skipValidString, spliceMembers } from './bytes.ts'

export interface JsonBounds {
  readonly depthMax: number
  readonly valuesMax: number
  /** `NAMES_MAX` where it is not said. */
  readonly namesMax?: number
  /** Of the outermost object: `OUTER_MEMBERS_MAX` where it is not said. */
  readonly membersMax?: number
}

export type JsonScan =
  | {
      readonly kind: 'scanned'
      readonly members: readonly JsonMember[]
      /** Heap bytes of the parsed values, without the characters of their strings. */
      readonly valueBytes: number
      /** Start and end of the values that are longer than a piece (`protocols/json/in-pieces.ts`). */
      readonly large: ReadonlyMap<number, number>
      /** Start and end of each long text of a message, which is valid as it is: the members of `TEXT_NAMES` inside the outer ones. */
      readonly texts: readonly number[]
      /** All of them together. */
      readonly textBytes: number
      /** An object inside the outermost one has a `cache_control`. */
      readonly hasCacheMarks: boolean
    }
  | { readonly kind: 'not-an-object' }
  | { readonly kind: 'too-deep' }
  | { readonly kind: 'too-many-values' }
  /** The bytes end inside the outermost object, or a bracket closes what was not open: JSON.parse will refuse them too. */
  | { readonly kind: 'broken'; readonly offset: number }

/** Real requests have some dozen fields; recording a million would cost more than the bound on values saves. */
export const OUTER_MEMBERS_MAX = 4096
/** Objects of a million different names keep JSON.parse busy for a second; a hundred thousand cost about a tenth. */
const NAMES_MAX = 100_000

/**
 * Bytes of a parsed value in V8's heap, rounded up. An empty array takes 43 and one in another 58, an empty object 67;
 * `value-bytes.long.test.ts` measures every kind. Names are counted as unique, because objects with unique names become dictionaries.
 */
const ARRAY_BYTES = 64
const OBJECT_BYTES = 72
const NAME_BYTES = 120
const STRING_BYTES = 48
const SCALAR_BYTES = 16

const QUOTE = 0x22
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** Members with the words of a conversation, or what a tool was called with. */
const TEXT_NAMES: ReadonlySet<string> = new Set(['content', 'text', 'arguments'])
const CACHE_MARK = 'cache_control'
/** Other names need not become strings. */
const TELLING_LENGTHS = new Uint8Array(32)
for (const name of [...TEXT_NAMES, CACHE_MARK]) TELLING_LENGTHS[name.length + 2] = 1
/** Shorter ones are parsed as fast as they are left out. Longer ones than a piece are parsed in pieces, because this has no pause. */
const LONG_TEXT_BYTES = 1024

const SPACE = 1
const STRING = 2
const OPEN = 3
const CLOSE = 4
const COMMA = 5
const COLON = 6

/** The class of a byte between tokens; 0 belongs to a number or a literal. */
const classes = new Uint8Array(256)
for (const byte of Buffer.from(' \t\n\r')) classes[byte] = SPACE
classes[QUOTE] = STRING
for (const byte of Buffer.from('{[')) classes[byte] = OPEN
for (const byte of Buffer.from('}]')) classes[byte] = CLOSE
classes[0x2c] = COMMA
classes[0x3a] = COLON

/**
 * One pass before JSON.parse: bounds depth and number of values, and records the members of the outermost object. It does not
 * check the whole grammar; for every text that JSON.parse accepts the offsets are exact.
 */
export function scanJson(bytes: Buffer, bounds: JsonBounds): JsonScan {
  const scan = advanceScan(bytes, bounds, Number.POSITIVE_INFINITY)
  if (scan.kind === 'paused') throw new Error('a scan without a pause must come to its end')
  return scan
}

interface Pieces {
  readonly pieceBytes: number
  /** Long texts are looked for. */
  readonly findsTexts?: boolean
  pause(): Promise<unknown> | undefined
}

/** The same for a large text, with a pause after each piece, in which other work runs. */
export function scanInPieces(bytes: Buffer, bounds: JsonBounds, pieces: Pieces): JsonScan | Promise<JsonScan> {
  const scan = advanceScan(bytes, bounds, pieces.pieceBytes, beginScan(pieces.findsTexts))
  return scan.kind === 'paused' ? scanFurther(bytes, bounds, scan, pieces) : scan
}

async function scanFurther(
  bytes: Buffer,
  bounds: JsonBounds,
  state: PausedScan,
  { pieceBytes, pause }: Pieces,
): Promise<JsonScan> {
  for (let pauseAt = 2 * pieceBytes; ; pauseAt += pieceBytes) {
    await pause()
    const scan = advanceScan(bytes, bounds, pauseAt, state)
    if (scan.kind !== 'paused') return scan
  }
}

interface PausedScan {
  readonly kind: 'paused'
  readonly members: JsonMember[]
  /** The place of the name of a member of the outermost object, with its quotes, until its value follows. */
  name: { readonly start: number; readonly end: number } | undefined
  readonly closers: number[]
  /** The starts of the open values, by their depth. */
  readonly starts: number[]
  readonly large: Map<number, number>
  readonly texts: number[]
  textBytes: number
  readonly findsTexts: boolean
  hasCacheMarks: boolean
  /** The value that follows is a text of a message. */
  awaitsText: boolean
  offset: number
  depth: number
  values: number
  names: number
  valueBytes: number
  /** A string here is a name: behind `{`, and behind a comma in an object. */
  awaitsName: boolean
}

const beginScan = (findsTexts = false): PausedScan => ({
  kind: 'paused',
  members: [],
  name: undefined,
  closers: [],
  starts: [],
  large: new Map(),
  texts: [],
  textBytes: 0,
  findsTexts,
  hasCacheMarks: false,
  awaitsText: false,
  offset: 0,
  depth: 0,
  values: 0,
  names: 0,
  valueBytes: 0,
  awaitsName: false,
})

/** Scans until the result is known, or `pauseAt` is reached. A result uses up the state. */
function advanceScan(bytes: Buffer, bounds: JsonBounds, pauseAt: number, state = beginScan()): JsonScan | PausedScan {
  const { depthMax, valuesMax, namesMax = NAMES_MAX, membersMax = OUTER_MEMBERS_MAX } = bounds
  const end = bytes.length
  const pieceEnd = Math.min(end, pauseAt)
  const { members, closers, starts, large } = state
  let { offset, depth, values, names, valueBytes, awaitsName } = state

  if (depth === 0) {
    if (classes[bytes[offset] ?? 0] === SPACE) offset = skipSpace(bytes, offset, pieceEnd)
    if (offset < end && offset >= pieceEnd) return Object.assign(state, { offset })
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
        const checkedEnd = state.awaitsText ? skipValidString(bytes, offset, PIECE_BYTES) : -1
        const stringEnd = checkedEnd < 0 ? skipString(bytes, offset) : checkedEnd
        if (stringEnd < 0) return { kind: 'broken', offset: end }
        state.awaitsText = false
        if (awaitsName) {
          if (++names > namesMax) return { kind: 'too-many-values' }
          valueBytes += NAME_BYTES
          if (depth === 1) state.name = { start: offset, end: stringEnd }
          else if (TELLING_LENGTHS[stringEnd - offset] === 1) noteInnerName(bytes, state, offset, stringEnd)
          awaitsName = false
        } else {
          if (++values > valuesMax) return { kind: 'too-many-values' }
          valueBytes += STRING_BYTES
          if (depth === 1) addMember(bytes, state, offset, stringEnd)
          if (stringEnd - offset > PIECE_BYTES) large.set(offset, stringEnd)
          if (checkedEnd - offset > LONG_TEXT_BYTES) noteText(state, offset, stringEnd)
        }
        offset = stringEnd
        break
      }
      case OPEN:
        if (++values > valuesMax) return { kind: 'too-many-values' }
        if (++depth > depthMax) return { kind: 'too-deep' }
        // Brackets pair by 2: `[` and `]` are 0x5b and 0x5d, `{` and `}` are 0x7b and 0x7d.
        closers[depth] = byte + 2
        starts[depth] = offset
        awaitsName = byte === OPEN_BRACE
        state.awaitsText = false
        valueBytes += awaitsName ? OBJECT_BYTES : ARRAY_BYTES
        offset += 1
        break
      case CLOSE:
        if (closers[depth] !== byte) return { kind: 'broken', offset }
        offset += 1
        awaitsName = false
        if (offset - starts[depth]! > PIECE_BYTES) large.set(starts[depth]!, offset)
        if (--depth === 1) addMember(bytes, state, starts[2]!, offset)
        if (depth === 0) return scanned(state, valueBytes)
        break
      case COMMA:
        awaitsName = closers[depth] === CLOSE_BRACE
        if (members.length > membersMax) return { kind: 'too-many-values' }
        offset += 1
        break
      default: {
        const scalarEnd = skipScalar(bytes, offset)
        if (++values > valuesMax) return { kind: 'too-many-values' }
        valueBytes += SCALAR_BYTES
        if (depth === 1) addMember(bytes, state, offset, scalarEnd)
        offset = scalarEnd
      }
    }
  }
  if (offset >= end) return { kind: 'broken', offset: end }
  return Object.assign(state, { offset, depth, values, names, valueBytes, awaitsName })
}

const scanned = ({ members, large, texts, textBytes, hasCacheMarks }: PausedScan, valueBytes: number): JsonScan => ({
  kind: 'scanned',
  members,
  valueBytes,
  large,
  texts,
  textBytes,
  hasCacheMarks,
})

function noteText(state: PausedScan, start: number, end: number): void {
  state.texts.push(start, end)
  state.textBytes += end - start
}

function noteInnerName(bytes: Buffer, state: PausedScan, start: number, end: number): void {
  const name = bytes.toString('latin1', start + 1, end - 1)
  state.awaitsText = state.findsTexts && TEXT_NAMES.has(name)
  if (name === CACHE_MARK) state.hasCacheMarks = true
}

/** Adds the member of the outermost object whose name was read last. */
function addMember(bytes: Buffer, state: PausedScan, valueStart: number, valueEnd: number): void {
  const { name } = state
  if (name === undefined) return
  const raw = bytes.toString('utf8', name.start + 1, name.end - 1)
  const escaped = raw.includes('\\')
  state.members.push({ name: escaped ? decodeName(raw) : raw, escaped, nameStart: name.start, valueStart, valueEnd })
  state.name = undefined
}

/** An invalid escape stays as it is: JSON.parse refuses the whole text later. */
function decodeName(raw: string): string {
  try {
    return JSON.parse(`"${raw}"`) as string
  } catch {
    return raw
  }
}

function skipScalar(bytes: Buffer, start: number): number {
  let offset = start + 1
  while (offset < bytes.length && classes[bytes[offset]!] === 0) offset += 1
  return offset
}

/** A loop of its own: a body that is nothing but space costs half as much. */
function skipSpace(bytes: Buffer, start: number, end: number): number {
  let offset = start
  while (offset < end && classes[bytes[offset]!] === SPACE) offset += 1
  return offset
}

/** For a part of a body that was bounded as a whole. */
export const INNER_BOUNDS: JsonBounds = {
  depthMax: 100_000,
  valuesMax: Number.MAX_SAFE_INTEGER,
  namesMax: Number.MAX_SAFE_INTEGER,
  membersMax: Number.MAX_SAFE_INTEGER,
}

/** The longest text that is parsed or written without a pause: a few milliseconds of the slowest text. */
export const PIECE_BYTES = 1024 * 1024

/** One piece of all bodies that are parsed or written in pieces runs in an iteration of the event loop. */
export const passTurnstile = createTurnstile()

/** `spliceMembers` for an object inside a scanned body, such as an element of an array. */
export function spliceElement(element: Buffer, changes: ReadonlyMap<string, Buffer | string | null>): Buffer {
  const scanned = scanJson(element, INNER_BOUNDS)
  if (scanned.kind !== 'scanned') throw new Error('An element of a parsed body cannot be scanned')
  return spliceMembers({ bytes: element, members: scanned.members }, changes)
}
