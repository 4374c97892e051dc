import { skipString, tryParse } from './bytes.ts'
import { INNER_BOUNDS, PIECE_BYTES, passTurnstile, scanInPieces } from './scan-json.ts'

/**
 * The value of a JSON text, as JSON.parse makes it, with a pause after each piece of a large one, in which other work runs;
 * undefined where it is not JSON. `large` has the offsets of its large values, where the caller has scanned it.
 */
export async function parseInPieces(bytes: Buffer, large?: ReadonlyMap<number, number>): Promise<unknown> {
  if (bytes.length <= PIECE_BYTES) return tryParse(bytes.toString('utf8'))
  const places = large ?? (await findLargeValues(bytes))
  // No object, too many names, or a small value among much space: parsed whole.
  if (places === undefined || places.size === 0) return tryParse(bytes.toString('utf8'))
  try {
    return await new PieceParser(bytes, places).parseAll()
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

async function findLargeValues(bytes: Buffer): Promise<ReadonlyMap<number, number> | undefined> {
  const scan = await scanInPieces(bytes, INNER_BOUNDS, { pieceBytes: 4 * PIECE_BYTES, pause: passTurnstile })
  return scan.kind === 'scanned' ? scan.large : undefined
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
/** `\ud83d`, the longest. */
const ESCAPE_BYTES = 6

/** The class of a byte between tokens; 0 belongs to a number or a literal. */
const SPACE = 1
const OPEN = 2
const CLOSE = 3
const BETWEEN = 4
const classes = new Uint8Array(256)
for (const byte of Buffer.from(' \t\n\r')) classes[byte] = SPACE
for (const byte of Buffer.from('[{')) classes[byte] = OPEN
for (const byte of Buffer.from(']}')) classes[byte] = CLOSE
for (const byte of Buffer.from('",:')) classes[byte] = BETWEEN

type Container = unknown[] | Record<string, unknown>

/** Takes large values apart, and parses the small ones in them with JSON.parse, as many at once as fit into a piece. */
class PieceParser {
  readonly #bytes: Buffer
  readonly #large: ReadonlyMap<number, number>

  constructor(bytes: Buffer, large: ReadonlyMap<number, number>) {
    this.#bytes = bytes
    this.#large = large
  }

  async parseAll(): Promise<unknown> {
    const start = this.#skipSpace(0)
    const end = this.#large.get(start)
    if (end === undefined || this.#skipSpace(end) < this.#bytes.length) throw new SyntaxError('no single value')
    return this.#parse(start, end)
  }

  async #parse(start: number, end: number): Promise<unknown> {
    const first = this.#bytes[start]
    if (first === QUOTE) return this.#parseString(start, end)
    if (first === OPEN_BRACKET) return this.#parseMembers([], start, end)
    return this.#parseMembers({}, start, end)
  }

  /** Parses the members between these brackets. */
  async #parseMembers<Whole extends Container>(whole: Whole, start: number, end: number): Promise<Whole> {
    let from = -1
    let upTo = -1
    const takeWaiting = async () => {
      if (from < 0) return
      take(whole, this.#text(from, upTo))
      from = -1
      await passTurnstile()
    }
    let at = this.#skipSpace(start + 1)
    if (at === end - 1) return whole
    for (;;) {
      const memberStart = at
      if (!Array.isArray(whole)) at = this.#skipName(at)
      const largeEnd = this.#large.get(at)
      if (largeEnd === undefined) {
        if (from < 0) from = memberStart
        upTo = this.#skipSmall(at)
        at = upTo
        if (at - from > PIECE_BYTES) await takeWaiting()
      } else {
        await takeWaiting()
        const value = await this.#parse(at, largeEnd)
        if (Array.isArray(whole)) whole.push(value)
        else put(whole, JSON.parse(this.#text(memberStart, skipString(this.#bytes, memberStart))), value)
        at = largeEnd
      }
      at = this.#skipSpace(at)
      if (at === end - 1) {
        await takeWaiting()
        return whole
      }
      if (this.#bytes[at] !== COMMA) throw new SyntaxError('no comma')
      at = this.#skipSpace(at + 1)
    }
  }

  async #parseString(start: number, end: number): Promise<string> {
    let text = ''
    for (let at = start + 1; at < end - 1; ) {
      const split = this.#splitBefore(Math.min(at + PIECE_BYTES, end - 1), { at, end: end - 1 })
      text += JSON.parse(`"${this.#text(at, split)}"`)
      at = split
      await passTurnstile()
    }
    return text
  }

  /** The last place up to `most` that splits neither a character nor an escape. `at` is the start of one. */
  #splitBefore(most: number, { at, end }: { readonly at: number; readonly end: number }): number {
    if (most === end) return end
    const bytes = this.#bytes
    let character = most
    while ((bytes[character]! & 0xc0) === 0x80) character -= 1
    let slash = character - 1
    while (slash >= character - ESCAPE_BYTES && bytes[slash] !== BACKSLASH) slash -= 1
    if (slash < at || slash < character - ESCAPE_BYTES) return character
    let run = slash
    while (run > at && bytes[run - 1] === BACKSLASH) run -= 1
    const isEscape = (slash - run) % 2 === 0
    return isEscape ? slash : character
  }

  /** The start of the value behind the name and its colon. */
  #skipName(at: number): number {
    if (this.#bytes[at] !== QUOTE) throw new SyntaxError('no name')
    const colon = this.#skipSpace(skipString(this.#bytes, at))
    if (this.#bytes[colon] !== COLON) throw new SyntaxError('no colon')
    return this.#skipSpace(colon + 1)
  }

  /** The scan has paired its brackets; JSON.parse checks the rest. */
  #skipSmall(start: number): number {
    const bytes = this.#bytes
    if (bytes[start] === QUOTE) return skipString(bytes, start)
    const kind = classes[bytes[start]!]
    if (kind === OPEN) return this.#skipBrackets(start)
    if (kind !== 0) throw new SyntaxError('no value')
    let at = start + 1
    while (at < bytes.length && classes[bytes[at]!] === 0) at += 1
    return at
  }

  #skipBrackets(start: number): number {
    const bytes = this.#bytes
    let depth = 0
    for (let at = start; at < bytes.length; ) {
      if (bytes[at] === QUOTE) {
        at = skipString(bytes, at)
        continue
      }
      const kind = classes[bytes[at]!]
      if (kind === OPEN) depth += 1
      if (kind === CLOSE) depth -= 1
      at += 1
      if (depth === 0) return at
    }
    throw new SyntaxError('no end')
  }

  #skipSpace(start: number): number {
    let at = start
    while (at < this.#bytes.length && classes[this.#bytes[at]!] === SPACE) at += 1
    return at
  }

  #text(start: number, end: number): string {
    return this.#bytes.toString('utf8', start, end)
  }
}

function take(whole: Container, text: string): void {
  if (Array.isArray(whole)) for (const element of JSON.parse(`[${text}]`)) whole.push(element)
  else for (const [name, value] of Object.entries(JSON.parse(`{${text}}`))) put(whole, name, value)
}

/** As JSON.parse does: `__proto__` is a name like others. */
function put(whole: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') whole[name] = value
  else Object.defineProperty(whole, name, { value, configurable: true, enumerable: true, writable: true })
}

/** How many characters, and values, are written without a pause. */
const PIECE_CHARACTERS = PIECE_BYTES / 2
const PIECE_VALUES = 20_000

/**
 * The JSON bytes of a value, as JSON.stringify makes them, with a pause after each piece of a large one, in which other work
 * runs. `about` is the expected size: it may be wrong.
 */
export async function writeInPieces(value: unknown, about: number): Promise<Buffer> {
  if (about <= PIECE_BYTES) return Buffer.from(JSON.stringify(value))
  await passTurnstile()
  const writer = new PieceWriter()
  await writer.write(value)
  return writer.end()
}

/** A container that is being written. */
interface OpenContainer {
  readonly entries: Iterator<readonly [name: string | undefined, value: unknown]>
  readonly closer: string
  isEmpty: boolean
}

class PieceWriter {
  readonly #pieces: Buffer[] = []
  #text = ''
  #values = 0

  async write(value: unknown): Promise<void> {
    const open: OpenContainer[] = []
    await this.#begin(value, open)
    for (let inner = open.at(-1); inner !== undefined; inner = open.at(-1)) {
      const next = inner.entries.next()
      if (next.done) {
        this.#text += inner.closer
        open.pop()
        continue
      }
      const [name, member] = next.value
      // As JSON.stringify: undefined is left out of an object, and null in an array.
      if (name !== undefined && member === undefined) continue
      this.#text += `${inner.isEmpty ? '' : ','}${name === undefined ? '' : `${JSON.stringify(name)}:`}`
      inner.isEmpty = false
      const paused = this.#begin(member ?? null, open)
      if (paused !== undefined) await paused
    }
  }

  end(): Buffer {
    this.#flush()
    return Buffer.concat(this.#pieces)
  }

  #begin(value: unknown, open: OpenContainer[]): Promise<void> | undefined {
    if (typeof value === 'string' && value.length > PIECE_CHARACTERS) return this.#writeString(value)
    if (Array.isArray(value)) {
      this.#text += '['
      open.push({ entries: elementsOf(value), closer: ']', isEmpty: true })
    } else if (typeof value === 'object' && value !== null) {
      this.#text += '{'
      open.push({ entries: Object.entries(value)[Symbol.iterator](), closer: '}', isEmpty: true })
    } else this.#text += JSON.stringify(value)
    this.#values += 1
    return this.#text.length > PIECE_CHARACTERS || this.#values > PIECE_VALUES ? this.#pause() : undefined
  }

  async #writeString(value: string): Promise<void> {
    this.#text += '"'
    for (let at = 0; at < value.length; ) {
      let split = Math.min(at + PIECE_CHARACTERS, value.length)
      // Surrogate pairs stay together.
      const last = value.charCodeAt(split - 1)
      if (split < value.length && last >= 0xd800 && last < 0xdc00) split -= 1
      this.#text += JSON.stringify(value.slice(at, split)).slice(1, -1)
      at = split
      await this.#pause()
    }
    this.#text += '"'
  }

  #pause(): Promise<void> {
    this.#flush()
    return passTurnstile()
  }

  #flush(): void {
    if (this.#text !== '') this.#pieces.push(Buffer.from(this.#text))
    this.#text = ''
    this.#values = 0
  }
}

function* elementsOf(list: readonly unknown[]): Generator<readonly [undefined, unknown]> {
  for (const element of list) yield [undefined, element]
}
