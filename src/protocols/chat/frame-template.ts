import { type Fields, isObject } from '../../lib/types.ts'
import { endOfPlainText, endOfString, isQuote, measureString, tryParse } from '../json/bytes.ts'
import { readData } from '../sse/frames.ts'
import { LEARNED_BYTES_MAX } from '../sse/repeated-text.ts'
import { callsBegun } from './chunk.ts'

// The frames of a stream are mostly the same bytes with another text in between. The relay parses one of them, and passes
// the following ones of the same template without parsing. A template is the bytes that stay the same (its literals), with
// slots between them for the strings that vary.

export interface FrameTemplate {
  /** The end of the frame that begins at `from`; -1 when it does not match, or does not end by `endMax`. */
  match(bytes: Buffer, from: number, endMax: number): number
  /** Bytes of text in the frames that have matched. */
  textBytes: number
  /** How many of these had text. */
  contentFrames: number
  /** The length of each of these. */
  lengths: number[]
  /** So many bytes at the beginning are the same in each. */
  readonly fixedBytes: number
}

/** The strings that may vary. `"` is escaped inside strings, so this matches only real member names. */
const SLOTS = /"(?:content|refusal|reasoning_content|reasoning|arguments|obfuscation)" ?: ?"/g

/** A template is proved with these values in its slots: parsing must find each where the frame had text. */
const probeValue = (slot: number): string => `slot ${slot}`

/**
 * The template of a frame that was parsed as `chunk`, with `textBytes` bytes of text in it; undefined where no other frame
 * can be recognised by it. It is proved when the first frame matches, because many templates never match.
 */
export function learnTemplate(frame: Buffer, chunk: Fields, textBytes: number): FrameTemplate | undefined {
  const strings = frame.length > LEARNED_BYTES_MAX ? undefined : varyingStrings(chunk)
  const split = strings && splitAtSlots(frame)
  if (!split) return undefined
  const { literals, values } = split
  let proof: 'open' | 'proved' | 'wrong' = 'open'
  let fixedText = 0
  let countsAsText: readonly boolean[] = []

  const prove = (): boolean => {
    const places = placesOfSlots(literals, values, strings)
    proof = places === undefined ? 'wrong' : 'proved'
    countsAsText = places?.map((place) => place !== PADDING) ?? []
    const varying = values.map((value, at) => (countsAsText[at] ? Buffer.byteLength(String(value)) : 0))
    fixedText = textBytes - varying.reduce((sum, bytes) => sum + bytes, 0)
    return proof === 'proved'
  }
  const match = (bytes: Buffer, from: number, endMax: number): number => {
    if (proof === 'wrong') return -1
    let at = from
    let sum = 0
    for (let slot = 0; ; slot++) {
      const literal = literals[slot]!
      const start = at
      at += literal.length
      if (at > endMax || bytes.compare(literal, 0, literal.length, start, at) !== 0) return -1
      if (slot === values.length) break
      let end = endOfPlainText(bytes, at)
      let measured: number | undefined = end - at
      // Nearly all text is plain ASCII; the rest takes a slower measurement.
      if (!isQuote(bytes[end])) {
        end = endOfString(bytes, end)
        measured = end === -1 ? undefined : measureString(bytes, at, end)
      }
      if (measured === undefined) return -1
      if (proof === 'open' || countsAsText[slot]) sum += measured
      at = end
    }
    if (proof === 'open') return prove() ? match(bytes, from, endMax) : -1
    const matched = fixedText + sum
    template.textBytes += matched
    if (matched > 0) template.contentFrames += 1
    template.lengths.push(at - from)
    return at
  }
  const template: FrameTemplate = {
    match,
    textBytes: 0,
    contentFrames: 0,
    lengths: [],
    fixedBytes: literals[0]!.length,
  }
  return template
}

/** The index in `varyingStrings` of the padding: random letters that hide the length of the text. */
const PADDING = 5

/**
 * The strings of a chunk that may vary from frame to frame; undefined where frames differ in more than their text, or where
 * one string changes how another is counted.
 */
function varyingStrings(chunk: Fields): unknown[] | undefined {
  const [choice, ...others] = Array.isArray(chunk.choices) ? chunk.choices : []
  if (others.length > 0 || !isObject(choice) || !isObject(choice.delta)) return undefined
  if (choice.finish_reason !== null && choice.finish_reason !== undefined) return undefined
  // The same frame again would begin another call.
  if (callsBegun(choice.delta) > 0) return undefined
  const { content, refusal, reasoning_content, reasoning, reasoning_details, tool_calls } = choice.delta
  if (Array.isArray(reasoning_details)) return undefined
  if (typeof reasoning_content === 'string' && typeof reasoning === 'string') return undefined
  const [call, ...otherCalls] = Array.isArray(tool_calls) ? tool_calls : []
  if (otherCalls.length > 0) return undefined
  const { arguments: args }: Fields = isObject(call) && isObject(call.function) ? call.function : {}
  return [content, refusal, reasoning_content, reasoning, args, chunk.obfuscation]
}

function splitAtSlots(frame: Buffer): { literals: Buffer[]; values: unknown[] } | undefined {
  const text = frame.toString('latin1')
  const literals: Buffer[] = []
  const values: unknown[] = []
  let start = 0
  SLOTS.lastIndex = 0
  while (SLOTS.exec(text)) {
    const from = SLOTS.lastIndex
    const end = endOfString(frame, from)
    if (end === -1) break
    // Copies: a subarray would keep the whole read alive.
    literals.push(Buffer.from(frame.subarray(start, from)))
    values.push(tryParse(frame.toString('utf8', from - 1, end + 1)))
    start = end
    SLOTS.lastIndex = end
  }
  literals.push(Buffer.from(frame.subarray(start)))
  return values.length === 0 ? undefined : { literals, values }
}

/** Which of the strings each slot holds, found by parsing the frame with probe values in its slots. */
function placesOfSlots(literals: readonly Buffer[], values: readonly unknown[], strings: readonly unknown[]) {
  const probe = literals.flatMap((literal, at) => (at === 0 ? [literal] : [Buffer.from(probeValue(at - 1)), literal]))
  const data = readData(Buffer.concat(probe))
  const chunk = data && tryParse(data.toString('utf8'))
  const found = isObject(chunk) ? (varyingStrings(chunk) ?? []) : []
  const places = values.map((value, slot) => {
    const place = found.indexOf(probeValue(slot))
    return typeof value === 'string' && strings[place] === value && value !== probeValue(slot) ? place : -1
  })
  return places.includes(-1) ? undefined : places
}
