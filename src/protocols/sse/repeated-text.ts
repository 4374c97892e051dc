import { endOfPlainText, endOfString, isQuote, tryParse } from '../json/bytes.ts'
import { type FrameSplitter, readData } from './frames.ts'

type Slot = 'number' | 'text' | 'padding'

/** `"` is escaped inside strings, so in JSON this matches only member names; `#prove` finds out about the rest. */
const SLOTS = /"(?:(sequence_number)" ?: ?(?=\d)|(content|text|delta)" ?: ?"|obfuscation" ?: ?")/g

/** A longer frame is not remembered: each stream would hold one. */
export const LEARNED_BYTES_MAX = 4096

/** A stream whose frames all differ in more than their text stops comparing them. */
const UNMATCHED_MAX = 8

/**
 * The frames of a text are mostly the same bytes with another text in between. One of them is parsed; of those that follow and
 * differ only in their text, number and padding, just the text is read.
 */
export class RepeatedText {
  /** The bytes that stay the same, one piece more than there are slots; empty while there is nothing to compare with. */
  #literals: readonly Buffer[] = []
  #slots: readonly Slot[] = []
  #texts: string[] = []
  /** The text of the frame that was learned. */
  #learned = ''
  #unmatched = 0
  /** It is proved when the first frame matches, because many never match. */
  #isProved = false

  /** Takes the last frame that was parsed, and its text; undefined where it has more than that. */
  learn(frame: Buffer, text: string | undefined): void {
    this.#literals = []
    if (text === undefined || frame.length > LEARNED_BYTES_MAX || this.#unmatched === UNMATCHED_MAX) return
    this.#unmatched += 1
    this.#split(frame, text)
  }

  /** The texts of the next frames that differ from the last one only in what each has of its own; empty for none. */
  take(frames: FrameSplitter): readonly string[] {
    if (this.#literals.length === 0 || frames.takeMatching(this) === undefined) return []
    const texts = this.#texts
    this.#texts = []
    this.#unmatched = 0
    return texts
  }

  /** The end of the frame that begins at `from`; -1 where it does not match, has no text, or does not end by `endMax`. */
  match(bytes: Buffer, from: number, endMax: number): number {
    let at = from
    let text: string | undefined
    for (let index = 0; ; index++) {
      const literal = this.#literals[index]!
      const start = at
      at += literal.length
      if (at > endMax || bytes.compare(literal, 0, literal.length, start, at) !== 0) return -1
      const slot = this.#slots[index]
      if (slot === undefined) break
      const end = endOfSlot(bytes, at, slot)
      if (end === -1) return -1
      if (slot !== 'number') {
        const string = textBetween(bytes, at, end)
        if (string === undefined) return -1
        if (slot === 'text') text = string
      }
      at = end
    }
    if (text === undefined || text === '' || !this.#prove()) return -1
    this.#texts.push(text)
    return at
  }

  /** Proves the slot: with a probe in it, parsing finds the probe exactly once, and the learned text never. */
  #prove(): boolean {
    if (this.#isProved) return true
    const probe = this.#literals.flatMap((literal, at) => {
      const slot = this.#slots[at]
      return slot === undefined ? [literal] : [literal, PROBES[slot]]
    })
    const data = readData(Buffer.concat(probe))
    const value = data && tryParse(data.toString('utf8'))
    this.#isProved = timesIn(value, PROBES.text.toString()) === 1 && timesIn(value, this.#learned) === 0
    if (!this.#isProved) this.#literals = []
    return this.#isProved
  }

  #split(frame: Buffer, text: string): void {
    const source = frame.toString('latin1')
    const literals: Buffer[] = []
    const slots: Slot[] = []
    let start = 0
    SLOTS.lastIndex = 0
    for (let found = SLOTS.exec(source); found; found = SLOTS.exec(source)) {
      const from = SLOTS.lastIndex
      const slot = found[1] !== undefined ? 'number' : found[2] !== undefined ? 'text' : 'padding'
      const end = endOfSlot(frame, from, slot)
      // A text of another value, or two of this one: it is not known which one counts.
      if (end === -1 || (slot === 'text' && (slots.includes('text') || textBetween(frame, from, end) !== text))) return
      // Copies: a subarray would keep the whole read alive.
      literals.push(Buffer.from(frame.subarray(start, from)))
      slots.push(slot)
      start = end
      SLOTS.lastIndex = end
    }
    if (!slots.includes('text')) return
    this.#isProved = false
    this.#learned = text
    literals.push(Buffer.from(frame.subarray(start)))
    this.#literals = literals
    this.#slots = slots
  }
}

const PROBES = { number: Buffer.from('1'), text: Buffer.from('the text of a probe'), padding: Buffer.from('') } as const

/** How often a string is a value in there. */
function timesIn(value: unknown, text: string): number {
  if (typeof value === 'string') return value === text ? 1 : 0
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  for (const each of Object.values(value)) count += timesIn(each, text)
  return count
}

const ZERO = 0x30
const NINE = 0x39

function endOfSlot(bytes: Buffer, from: number, slot: Slot): number {
  if (slot !== 'number') {
    const end = endOfPlainText(bytes, from)
    return isQuote(bytes[end]) ? end : endOfString(bytes, end)
  }
  let at = from
  while (bytes[at]! >= ZERO && bytes[at]! <= NINE) at++
  const isNumber = at > from && (at === from + 1 || bytes[from] !== ZERO)
  return isNumber ? at : -1
}

/** The text of a JSON string without its quotes; undefined where it is not valid. */
function textBetween(bytes: Buffer, from: number, end: number): string | undefined {
  if (endOfPlainText(bytes, from) === end) return bytes.toString('latin1', from, end)
  const text = tryParse(bytes.toString('utf8', from - 1, end + 1))
  return typeof text === 'string' ? text : undefined
}
