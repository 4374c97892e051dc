import { isObject } from '../../lib/types.ts'
import { memberBytes, type RequestBody, type TurnRequest } from '../../model/turn.ts'
import { skipString } from '../json/bytes.ts'

/** How much of a request certainly is input: what is left out, or written anew for every lane, counts as it goes. */
export function inputBytes(
  { members }: RequestBody,
  fields: ReadonlySet<string>,
  rewritten: ReadonlyMap<string, Buffer | null>,
): number {
  let bytes = 0
  for (const { name, valueStart, valueEnd } of members) {
    if (!fields.has(name)) continue
    const written = rewritten.get(name)
    bytes += written === undefined ? valueEnd - valueStart : (written?.length ?? 0)
  }
  return bytes
}

/** What of a request makes a provider explain tools to its model. */
interface ToolsOfRequest {
  /** How many tools it declares. */
  readonly declared: number
  /** The form that the answer shall have. */
  readonly format: unknown
  /** It goes on from calls of earlier turns. */
  readonly hasCalls: boolean
}

/**
 * As how many tools a prompt has them explained. A schema that the answer has to follow is explained like a tool, and on
 * some lanes it is one; calls of the past have their tools declared again where the client does not.
 */
export const toolsInPrompt = ({ declared, format, hasCalls }: ToolsOfRequest): number =>
  declared + (isObject(format) && format.type === 'json_schema' ? 1 : 0) + (declared === 0 && hasCalls ? 1 : 0)

/** How much text a request certainly gives its model to read. */
interface TextSize {
  /** Letters that follow a space: each begins a word. */
  readonly words: number
  /** In UTF-8, without the escapes of JSON. */
  readonly bytes: number
}

/** More of an input is not looked at: what is in its beginning is read by the model whatever follows, and the loop waits meanwhile. */
const LOOKED_AT_BYTES = 8 * 1024 * 1024

/** The members of messages and of results of tools that hold what the model reads. */
const TEXT_MEMBERS: ReadonlySet<string> = new Set(['content', 'text', 'output'])
const NAME_BYTES_MAX = Math.max(...[...TEXT_MEMBERS].map((name) => name.length))

/** Former reasoning is given to the model again or not, as its provider likes: with it nothing is certain. */
const REASONING = '"reasoning'

const QUOTE = 0x22
const COLON = 0x3a
const SPACE = 0x20
const BACKSLASH = 0x5c
const SMALL_U = 0x75
const SMALL_A = 0x61
const SMALL_Z = 0x7a
/** Makes a capital of ASCII small. */
const SMALL_BIT = 0x20

/**
 * Measures the text of messages and results of tools, from below, and stops once there is `enough` of it. Tool definitions, calls
 * and metadata are not in it. Nothing is parsed, and the bytes are known to be valid JSON.
 */
export function measureText({ body, inputField, rewritten }: TurnRequest, enough: TextSize): TextSize {
  const input = rewritten.get(inputField) ?? memberBytes(body, inputField)
  if (input === undefined || input.includes(REASONING)) return { words: 0, bytes: 0 }
  const measure = new TextMeasure(input.subarray(0, LOOKED_AT_BYTES), enough)
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

  /** Reads a string from its first character on; returns the place of its closing quote, or of the end of what is looked at. */
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

  /** Where it is a colon, a string is the value of the member that was named last. */
  #byteBefore(at: number): number | undefined {
    let before = at - 1
    while (this.#input[before]! <= SPACE) before--
    return this.#input[before]
  }

  #isTextMember(from: number, end: number): boolean {
    return end - from <= NAME_BYTES_MAX && TEXT_MEMBERS.has(this.#input.toString('latin1', from, end))
  }
}
