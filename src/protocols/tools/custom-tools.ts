import type { CustomTool } from '../../model/conversation.ts'
import { joinTexts } from '../shared/texts.ts'

/** A tool that takes free text, for a server that has functions only: one string, which is found again in its calls. */
export function customAsFunction({ description, grammar }: CustomTool): CustomFunction {
  // A grammar that nobody enforces is at least told to the model.
  const rule = grammar && `The input must match this ${grammar.syntax} grammar:\n${grammar.definition}`
  const told = joinTexts([description, rule])
  return { description: told === '' ? undefined : told, parameters: PARAMETERS }
}

interface CustomFunction {
  readonly description: string | undefined
  readonly parameters: Readonly<Record<string, unknown>>
}

const PARAMETERS = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
  required: ['input'],
  additionalProperties: false,
}

/**
 * Takes the input of a custom tool out of the arguments of the function that it went as, `{"input":"…"}`, while they come:
 * in pieces, however they are cut. Arguments of another shape are the input themselves.
 *
 * What has been given out cannot be taken back. Where the text turns out not to be JSON behind the opening quote, it is
 * given as it stands from there on; what follows the closing quote says nothing and is left out.
 */
export interface InputDecoder {
  /** What of the input is known by now. */
  push(text: string): string
  /** What was still waiting for its other half. */
  end(): string
  /** Bytes that wait. */
  heldBytes(): number
}

const OPENING = /^\s*\{\s*"input"\s*:\s*"/
/** Whatever may still become that. */
const MAYBE_OPENING = /^\s*(\{\s*("(i(n(p(u(t("\s*(:\s*)?)?)?)?)?)?)?)?)?$/
/** Nobody indents that far: it is the text itself. */
const OPENING_LENGTH_MAX = 256

type Phase = 'opening' | 'inside' | 'behind' | 'plain'

export function createInputDecoder(): InputDecoder {
  let phase: Phase = 'opening'
  /** Not understood yet: a part of the opening, or of an escape. */
  let waiting = ''
  /** The first half of a character, which is nothing without the second. */
  let half = ''

  const inside = (text: string): string => {
    const { said, rest, closed } = decodeString(text)
    waiting = rest
    if (closed) phase = 'behind'
    return said
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
      const said = half + decode(text)
      half = endsInHalf(said) ? said.slice(-1) : ''
      return half === '' ? said : said.slice(0, -1)
    },
    end() {
      const said = half + waiting
      half = ''
      waiting = ''
      phase = 'behind'
      return said
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
function decodeString(text: string): { said: string; rest: string; closed: boolean } {
  let said = ''
  let from = 0
  for (;;) {
    SPECIAL.lastIndex = from
    const at = SPECIAL.exec(text)?.index ?? text.length
    said += text.slice(from, at)
    if (at === text.length) return { said, rest: '', closed: false }
    if (text[at] === '"') return { said, rest: '', closed: true }
    const read = readEscape(text, at)
    if (read === undefined) return { said, rest: text.slice(at), closed: false }
    said += read.character
    from = at + read.length
  }
}

/** Undefined while there is too little of it; an escape that JSON does not know stands for itself. */
function readEscape(text: string, at: number): { character: string; length: number } | undefined {
  const letter = text[at + 1]
  if (letter === undefined) return undefined
  if (letter !== 'u') return { character: ESCAPES[letter] ?? `\\${letter}`, length: 2 }
  const digits = text.slice(at + 2, at + 6)
  if (!HEX.test(digits)) return { character: '\\u', length: 2 }
  return digits.length < 4 ? undefined : { character: String.fromCharCode(Number.parseInt(digits, 16)), length: 6 }
}
