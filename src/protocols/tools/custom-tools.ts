import type { CustomTool } from '../../model/conversation.ts'
import { joinTexts } from '../shared/texts.ts'

/** A tool that takes free text, as a function of one string, for a server that has functions only. */
export function customAsFunction({ description, grammar }: CustomTool) {
  // The server does not enforce the grammar, so the model gets it as text.
  const rule = grammar && `The input must match this ${grammar.syntax} grammar:\n${grammar.definition}`
  return { description: joinTexts([description, rule]) || undefined, parameters: PARAMETERS }
}

const PARAMETERS = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
  required: ['input'],
  additionalProperties: false,
}

/**
 * Extracts the input of a custom tool from the arguments of its function, `{"input":"…"}`, while they arrive in pieces.
 * Arguments of another shape are the input themselves.
 *
 * Text that was emitted cannot be taken back. Where the text behind the opening quote is not JSON, it is emitted as it stands
 * from there on; text behind the closing quote is dropped.
 */
export interface InputDecoder {
  /** The part of the input that is complete by now. */
  push(text: string): string
  /** The text that still waited. */
  end(): string
  heldBytes(): number
}

const OPENING = /^\s*\{\s*"input"\s*:\s*"/
/** A text that may still become an opening. */
const MAYBE_OPENING = /^\s*(\{\s*("(i(n(p(u(t("\s*(:\s*)?)?)?)?)?)?)?)?)?$/
/** A longer text is not an opening but the input itself. */
const OPENING_LENGTH_MAX = 256

type Phase = 'opening' | 'inside' | 'behind' | 'plain'

export function createInputDecoder(): InputDecoder {
  let phase: Phase = 'opening'
  /** An incomplete opening or escape. */
  let waiting = ''
  /** The first half of a surrogate pair. */
  let half = ''

  const inside = (text: string): string => {
    const { decoded, rest, closed } = decodeString(text)
    waiting = rest
    if (closed) phase = 'behind'
    return decoded
  }
  const decode = (text: string): string => {
    if (phase === 'behind') return ''
    if (phase === 'plain') return text
    const all = waiting + text
    waiting = ''
    if (phase === 'inside') return inside(all)
    const opened = OPENING.exec(all)
    if (opened && opened[0].length <= OPENING_LENGTH_MAX) {
      phase = 'inside'
      return inside(all.slice(opened[0].length))
    }
    if (!opened && all.length <= OPENING_LENGTH_MAX && MAYBE_OPENING.test(all)) {
      waiting = all
      return ''
    }
    phase = 'plain'
    return all
  }
  return {
    push(text) {
      const decoded = half + decode(text)
      half = endsInHalf(decoded) ? decoded.slice(-1) : ''
      return half === '' ? decoded : decoded.slice(0, -1)
    },
    end() {
      const decoded = half + waiting
      half = ''
      waiting = ''
      phase = 'behind'
      return decoded
    },
    heldBytes: () => Buffer.byteLength(waiting) + Buffer.byteLength(half),
  }
}

const endsInHalf = (text: string): boolean => {
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last <= 0xdbff
}

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}
const SPECIAL = /["\\]/g
const HEX = /^[0-9a-fA-F]*$/

/** The inside of a JSON string up to its closing quote, or as far as it goes. */
function decodeString(text: string): { decoded: string; rest: string; closed: boolean } {
  let decoded = ''
  let from = 0
  for (;;) {
    SPECIAL.lastIndex = from
    const at = SPECIAL.exec(text)?.index ?? text.length
    decoded += text.slice(from, at)
    if (at === text.length) return { decoded, rest: '', closed: false }
    if (text[at] === '"') return { decoded, rest: '', closed: true }
    const read = readEscape(text, at)
    if (read === undefined) return { decoded, rest: text.slice(at), closed: false }
    decoded += read.character
    from = at + read.length
  }
}

/** Undefined while the escape is incomplete; an invalid escape stands for itself. */
function readEscape(text: string, at: number): { character: string; length: number } | undefined {
  const letter = text[at + 1]
  if (letter === undefined) return undefined
  if (letter !== 'u') return { character: ESCAPES[letter] ?? `\\${letter}`, length: 2 }
  const digits = text.slice(at + 2, at + 6)
  if (!HEX.test(digits)) return { character: '\\u', length: 2 }
  return digits.length < 4 ? undefined : { character: String.fromCharCode(Number.parseInt(digits, 16)), length: 6 }
}
