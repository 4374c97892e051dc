import { assertNever, type Fields, isObject } from '../../lib/types.ts'
import {
  type CallItem,
  type ContentPart,
  type ConversationItem,
  isText,
  type MessageItem,
  partsText,
  type ReasoningItem,
  type ResultItem,
  textAndRefusals,
} from '../../model/conversation.ts'
import { tryParse } from '../json/bytes.ts'
import { opaqueForLane } from '../seals/call-seals.ts'
import { inlineData } from '../shared/data-url.ts'
import type { LaneTarget } from '../shared/lane-target.ts'
import {
  ABORTED,
  BREAK,
  clientName,
  FROM_RESULT,
  RESULT_ELSEWHERE,
  USER_BEGINS,
  USER_GOES_ON,
} from '../shared/texts.ts'
import {
  argumentsObject,
  type CallIds,
  mapCallIds,
  type PairedResults,
  pairResults,
  type ToolNames,
} from '../tools/tool-names.ts'
import type { GeminiDialect } from './dialects.ts'

/** What ids of calls have from other providers, and none here. */
const FOREIGN_ID = /[^a-zA-Z0-9_-]/g

interface WrittenContents {
  readonly contents: readonly Content[]
  readonly leftOut: readonly string[]
}

export interface Content {
  readonly role: 'user' | 'model'
  readonly parts: Fields[]
}

/**
 * A conversation as turns of the user and of the model. The results of a turn's calls stand in the user's turn right behind
 * it, in their order, one for each: what stood between them comes after, what is missing is made up.
 */
export function writeContents(
  items: readonly ConversationItem[],
  names: ToolNames,
  lane: LaneTarget<GeminiDialect>,
): WrittenContents {
  const writing: Writing = {
    contents: [],
    leftOut: new Set(),
    names,
    lane,
    results: pairResults(items),
    ids: mapCallIds(FOREIGN_ID),
    turn: undefined,
  }
  for (const item of items) writeItem(writing, item)
  endTurn(writing)
  const { contents } = writing
  if (contents[0]?.role !== 'user') contents.unshift({ role: 'user', parts: [{ text: USER_BEGINS }] })
  if (contents.at(-1)?.role !== 'user') contents.push({ role: 'user', parts: [{ text: USER_GOES_ON }] })
  return { contents, leftOut: [...writing.leftOut] }
}

interface Writing {
  readonly contents: Content[]
  readonly leftOut: Set<string>
  readonly names: ToolNames
  readonly lane: LaneTarget<GeminiDialect>
  readonly results: PairedResults
  readonly ids: CallIds
  /** What the model says and calls until somebody else has the word. */
  turn: ModelTurn | undefined
}

interface ModelTurn {
  readonly parts: (Fields | SignedCall)[]
  /** A call that was sent twice is one. */
  readonly calls: Map<string, SignedCall>
  /** Of the call that comes next. */
  signature: string | undefined
}

interface SignedCall {
  call: CallItem
  readonly signature: string | undefined
}

const isCall = (part: Fields | SignedCall): part is SignedCall => 'call' in part

function writeItem(writing: Writing, item: ConversationItem): void {
  switch (item.type) {
    case 'message':
      if (item.role === 'assistant') addWords(writing, item)
      else writeMessage(writing, item)
      return
    case 'reasoning':
      addSignature(writing, item)
      return
    case 'tool-call':
      addCall(writing, item)
      return
    case 'tool-result':
      writeResult(writing, item)
      return
    default:
      assertNever(item)
  }
}

function turnOf(writing: Writing): ModelTurn {
  writing.turn ??= { parts: [], calls: new Map(), signature: undefined }
  return writing.turn
}

function addWords(writing: Writing, { content }: MessageItem): void {
  for (const part of content) noteLost(writing, part)
  const text = textAndRefusals(content).filter(Boolean).join(BREAK)
  if (text === '') return
  const { parts } = turnOf(writing)
  const last = parts.at(-1)
  // A signature is on what stood before it: what is said after it stays apart.
  if (last === undefined || isCall(last) || last.thoughtSignature !== undefined) parts.push({ text })
  else last.text = `${last.text}${BREAK}${text}`
}

/** Of reasoning only the signature goes back, to the model that has set it; thoughts themselves are not wanted again. */
function addSignature(writing: Writing, { opaque }: ReasoningItem): void {
  const signed = readSignature(opaqueForLane(opaque, writing.lane))
  if (signed === undefined) return
  const turn = turnOf(writing)
  if (signed.on === 'call') turn.signature = signed.signature
  else turn.parts.push({ text: '', thoughtSignature: signed.signature })
}

function addCall(writing: Writing, call: CallItem): void {
  const turn = turnOf(writing)
  const known = turn.calls.get(call.callId)
  if (known !== undefined) {
    known.call = call
    return
  }
  const signed = { call, signature: turn.signature }
  turn.signature = undefined
  turn.calls.set(call.callId, signed)
  turn.parts.push(signed)
}

function writeResult(writing: Writing, result: ResultItem): void {
  if (!writing.results.orphans.has(result)) {
    // It is written with its call's; here it only says that the model has finished.
    if (writing.turn !== undefined && writing.turn.calls.size > 0) endTurn(writing)
    return
  }
  const { content } = result
  endTurn(writing)
  writing.leftOut.add(clientName('strayResult', writing.lane.client))
  const text = `The result of a tool call that is not shown here:\n${partsText(content, '\n')}`
  addParts(writing, 'user', [{ text }, ...shownParts(writing, content)])
}

/** Behind the beginning there is no place for instructions: there they are a user's words, marked as what they are. */
function writeMessage(writing: Writing, { role, content }: MessageItem): void {
  endTurn(writing)
  if (role === 'user') {
    const written = content.flatMap((part) => (isText(part) && part.text === '' ? [] : placed(writing, part)))
    // An empty user message after the model's becomes `Go on.`, in this request and in all later ones.
    const isSilence = written.length === 0 && writing.contents.at(-1)?.role === 'model'
    addParts(writing, 'user', isSilence ? [{ text: USER_GOES_ON }] : written)
    return
  }
  for (const part of content) noteLost(writing, part)
  const text = partsText(content, '\n')
  if (text !== '') addParts(writing, 'user', [{ text: `[${role}] ${text}` }])
}

/** The part, where it has a place. */
function placed(writing: Writing, part: ContentPart): Fields[] {
  const written = writePart(part)
  if (written !== undefined)
    return part.type === 'file' && part.name ? [{ text: `[${part.name}]` }, written] : [written]
  noteLost(writing, part)
  return []
}

const shownParts = (writing: Writing, content: readonly ContentPart[]): Fields[] =>
  content.flatMap((part) => (isText(part) ? [] : placed(writing, part)))

function noteLost({ leftOut, lane }: Writing, part: ContentPart): void {
  if (isText(part)) return
  const isById = part.type === 'file' && part.id !== undefined
  leftOut.add(clientName(isById ? 'fileId' : part.type, lane.client))
}

function addParts({ contents }: Writing, role: Content['role'], parts: readonly Fields[]): void {
  if (parts.length === 0) return
  const last = contents.at(-1)
  // One by one: a client may send more parts than a function takes arguments.
  if (last?.role === role) for (const part of parts) last.parts.push(part)
  else contents.push({ role, parts: [...parts] })
}

/** Writes what the model has said and called, and behind it the results of its calls. */
function endTurn(writing: Writing): void {
  const { turn, names, lane, results, ids } = writing
  writing.turn = undefined
  if (turn === undefined) return
  const idOf = new Map<CallItem, string>()
  if (lane.dialect.callIds) for (const { call } of turn.calls.values()) idOf.set(call, ids.take(call.callId))
  const wordsFor = (call: CallItem) => ({ names, id: idOf.get(call) })
  const [first] = turn.calls.values()
  const signatureOf = (signed: SignedCall): string | undefined =>
    signed.signature ?? (signed === first && lane.dialect.traits.signedCalls ? FOREIGN_CALL : undefined)
  const said = turn.parts.map((part) =>
    isCall(part) ? writeCall(part.call, signatureOf(part), wordsFor(part.call)) : part,
  )
  addParts(writing, 'model', said)
  const calls = [...turn.calls.values()].map(({ call }) => ({ call, content: results.byCall.get(call)?.content }))
  const shown = calls.map(({ call, content = [] }) => ({ call, parts: shownParts(writing, content) }))
  const responses = calls.map(({ call, content }, at) =>
    writeResponse(call, resultText(content, shown[at]?.parts.length ?? 0), wordsFor(call)),
  )
  const beside = shown.flatMap(({ call, parts }) =>
    parts.length === 0 ? [] : [{ text: `${FROM_RESULT} ${names.upstreamName(call)}:` }, ...parts],
  )
  addParts(writing, 'user', [...responses, ...beside])
}

function resultText(content: readonly ContentPart[] | undefined, shown: number): string {
  if (content === undefined) return ABORTED
  const text = partsText(content, '\n')
  return text === '' && shown > 0 ? RESULT_ELSEWHERE : text
}

/** A part of a content; undefined: it has no place there. Files are sent along or named by an address, never by an id. */
export function writePart(part: ContentPart): Fields | undefined {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return { text: part.text }
    case 'image':
      return writeData(part.url) ?? writeAddress(part.url, mimeTypeOf(part.url) ?? 'image/jpeg')
    case 'audio':
      return inline(`audio/${FORMAT.test(part.format) ? part.format : 'wav'}`, part.data)
    case 'file': {
      const { data, url = '', name = '' } = part
      if (data !== undefined) return writeData(data)
      return writeAddress(url, mimeTypeOf(name) ?? mimeTypeOf(url) ?? 'application/pdf')
    }
    default:
      return assertNever(part)
  }
}

const FORMAT = /^[a-z0-9][a-z0-9.+-]{0,31}$/

const inline = (mimeType: string, data: string): Fields => ({ inlineData: { mimeType, data } })

function writeData(url: string): Fields | undefined {
  const data = inlineData(url)
  return data && inline(data.mediaType, data.base64)
}

/** Google fetches what it is given the address of, and wants to be told what it will find. */
const writeAddress = (url: string, mimeType: string): Fields | undefined =>
  FETCHED.test(url) ? { fileData: { mimeType, fileUri: url } } : undefined

const FETCHED = /^https?:\/\//i

/** What a name or an address says of what is behind it. */
function mimeTypeOf(name: string): string | undefined {
  const [path = ''] = name.split(/[?#]/)
  return MIME_TYPES.get(path.slice(path.lastIndexOf('.') + 1).toLowerCase())
}

const MIME_TYPES: ReadonlyMap<string, string> = new Map([
  ...['png', 'jpeg', 'webp', 'heic', 'heif', 'gif'].map((kind) => [kind, `image/${kind}`] as const),
  ['jpg', 'image/jpeg'],
  ['pdf', 'application/pdf'],
  ['json', 'application/json'],
  ['txt', 'text/plain'],
  ['md', 'text/markdown'],
  ...['html', 'css', 'csv', 'xml'].map((kind) => [kind, `text/${kind}`] as const),
  ['mp3', 'audio/mp3'],
  ...['wav', 'aac', 'flac', 'ogg'].map((kind) => [kind, `audio/${kind}`] as const),
  ...['mp4', 'webm', 'mpeg'].map((kind) => [kind, `video/${kind}`] as const),
])

/** How a call and its result are told of each other. */
interface CallWords {
  readonly names: ToolNames
  /** As the server takes it; undefined where their order pairs them. */
  readonly id: string | undefined
}

const writeCall = (call: CallItem, signature: string | undefined, words: CallWords): Fields => ({
  functionCall: { ...nameOf(call, words), args: argumentsObject(call) },
  ...(signature === undefined ? {} : { thoughtSignature: signature }),
})

/** A result is an object here; that it was a text shall be seen. */
const writeResponse = (call: CallItem, result: string, words: CallWords): Fields => ({
  functionResponse: { ...nameOf(call, words), response: { result } },
})

const nameOf = (call: CallItem, { names, id }: CallWords): Fields => ({
  ...(id === undefined ? {} : { id }),
  name: names.upstreamName(call),
})

/** What signs a thought, and on which part of the answer it came: it goes back on the same. */
interface ThoughtSignature {
  readonly signature: string
  readonly on: SignedPart
}

export type SignedPart = 'call' | 'text'

/** In place of the signature of a call that this model has not made: the documented word for histories from elsewhere. */
export const FOREIGN_CALL = 'skip_thought_signature_validator'

export const writeSignature = ({ signature, on }: ThoughtSignature): string =>
  JSON.stringify({ thoughtSignature: signature, on })

/** Undefined for what is none: a client may have carried anything. */
export function readSignature(data: string | undefined): ThoughtSignature | undefined {
  const parsed = data === undefined ? undefined : tryParse(data)
  if (!isObject(parsed)) return undefined
  const { thoughtSignature: signature, on } = parsed
  if (typeof signature !== 'string' || signature === '' || (on !== 'call' && on !== 'text')) return undefined
  return { signature, on }
}
