import type { TurnRequest } from '../../model/turn.ts'
import { memberBytes, skipString } from '../json/bytes.ts'

/** The text that a request certainly contains. */
interface TextSize {
  /** Letters that follow a space: each starts a word. */
  readonly words: number
  /** In UTF-8, without the escapes of JSON. */
  readonly bytes: number
}

/** Only the beginning is measured: a lower bound is enough, and the event loop waits meanwhile. */
const MEASURED_BYTES = 8 * 1024 * 1024

/** The members of messages and tool results that have the text. */
const TEXT_MEMBERS: ReadonlySet<string> = new Set(['content', 'text', 'output'])
const NAME_BYTES_MAX = Math.max(...[...TEXT_MEMBERS].map((name) => name.length))

/** Each provider decides whether the model gets former reasoning again, so a request with it has no certain size. */
const REASONING = '"reasoning'

const QUOTE = 0x22
const COLON = 0x3a
const SPACE = 0x20
const BACKSLASH = 0x5c
const SMALL_U = 0x75
const SMALL_A = 0x61
const SMALL_Z = 0x7a
/** Turns an ASCII capital into a small letter. */
const SMALL_BIT = 0x20

/**
 * Measures a lower bound of the text of messages and tool results, and stops once there is `enough` of it. Tool definitions, calls
 * and metadata are not in it. Nothing is parsed; the bytes are valid JSON.
 */
export function measureText({ body, inputField, rewritten }: TurnRequest, enough: TextSize): TextSize {
  const input = rewritten.get(inputField) ?? memberBytes(body, inputField)
  if (input === undefined || input.includes(REASONING)) return { words: 0, bytes: 0 }
  const measure = new TextMeasure(input.subarray(0, MEASURED_BYTES), enough)
  if (input[0] === QUOTE) measure.addText(1)
  else measure.addMembers()
  return measure
}

class TextMeasure implements TextSize {
  readonly #input: Buffer
  readonly #enough: TextSize
  words = 0
  bytes = 0

  constructor(input: Buffer, enough: TextSize) {
    this.#input = input
    this.#enough = enough
  }

  addMembers(): void {
    const input = this.#input
    let isText = false
    for (let at = input.indexOf(QUOTE); at >= 0 && !this.#isEnough; at = input.indexOf(QUOTE, at)) {
      const isValue = this.#byteBefore(at) === COLON
      if (isValue && isText) {
        at = this.addText(at + 1) + 1
        continue
      }
      const end = skipString(input, at)
      if (end < 0) return
      if (!isValue) isText = this.#isTextMember(at + 1, end - 1)
      at = end
    }
  }

  /** Reads a string from its first character; returns the place of its closing quote, or of the end of the measured bytes. */
  addText(from: number): number {
    const input = this.#input
    let words = 0
    let escaping = 0
    let isAfterSpace = false
    let at = from
    for (; at < input.length; at++) {
      const byte = input[at]!
      if (byte === QUOTE) break
      if (byte === BACKSLASH) {
        // `\u0041` is at least one byte of text, and every other escape is one.
        const more = input[at + 1] === SMALL_U ? 5 : 1
        at += more
        escaping += more
        isAfterSpace = false
        continue
      }
      const small = byte | SMALL_BIT
      if (isAfterSpace && small >= SMALL_A && small <= SMALL_Z) {
        words += 1
        if (words > this.#enough.words) break
      }
      isAfterSpace = byte === SPACE
    }
    this.words += words
    this.bytes += Math.max(at - from - escaping, 0)
    return at
  }

  get #isEnough(): boolean {
    return this.words > this.#enough.words || this.bytes > this.#enough.bytes
  }

  /** A string behind a colon is the value of the last named member. */
  #byteBefore(at: number): number | undefined {
    let before = at - 1
    while (this.#input[before]! <= SPACE) before--
    return this.#input[before]
  }

  #isTextMember(from: number, end: number): boolean {
    return end - from <= NAME_BYTES_MAX && TEXT_MEMBERS.has(this.#input.toString('latin1', from, end))
  }
}
