import { assertNever, type Fields, isObject } from '../../lib/types.ts'
import {
  type CallItem,
  type ContentPart,
  type ConversationItem,
  isText,
  type MessageItem,
  partsText,
  type ResultItem,
  textAndRefusals,
} from '../../model/conversation.ts'
import { inlineData } from '../fields/content-parts.ts'
import { tryParse } from '../json/bytes.ts'
import { opaqueForLane } from '../seals/call-seals.ts'
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
  type CallIds,
  createArgumentsReader,
  mapCallIds,
  type PairedResults,
  pairResults,
  type ToolNames,
} from '../tools/tool-names.ts'
import type { GeminiDialect } from './dialects.ts'

/** Characters that ids of calls have at other providers, and not here. */
const FOREIGN_ID = /[^a-zA-Z0-9_-]/g

export interface Content {
  readonly role: 'user' | 'model'
  readonly parts: Fields[]
}

interface ModelTurn {
  readonly parts: (Fields | SignedCall)[]
  /** A call that was sent twice is one. */
  readonly calls: Map<string, SignedCall>
  /** For the next call. */
  signature: string | undefined
}

interface SignedCall {
  call: CallItem
  readonly signature: string | undefined
}

const isCall = (part: Fields | SignedCall): part is SignedCall => 'call' in part

/**
 * A conversation as turns of the user and of the model. The results of a turn's calls stand in the user's turn right behind
 * it, in their order, one for each: what stood between them comes after, what is missing is made up.
 */
export function writeContents(items: readonly ConversationItem[], names: ToolNames, lane: LaneTarget<GeminiDialect>) {
  const { contents, leftOut } = new ContentWriter(items, names, lane)
  if (contents[0]?.role !== 'user') contents.unshift({ role: 'user', parts: [{ text: USER_BEGINS }] })
  if (contents.at(-1)?.role !== 'user') contents.push({ role: 'user', parts: [{ text: USER_GOES_ON }] })
  return { contents, leftOut: [...leftOut] }
}

class ContentWriter {
  readonly contents: Content[] = []
  readonly leftOut = new Set<string>()
  readonly #names: ToolNames
  readonly #lane: LaneTarget<GeminiDialect>
  readonly #results: PairedResults
  readonly #ids: CallIds = mapCallIds(FOREIGN_ID)
  readonly #readArguments = createArgumentsReader()
  /** The text and calls of the model until another role follows. */
  #turn: ModelTurn | undefined

  constructor(items: readonly ConversationItem[], names: ToolNames, lane: LaneTarget<GeminiDialect>) {
    this.#names = names
    this.#lane = lane
    this.#results = pairResults(items)
    for (const item of items) this.#writeItem(item)
    this.#endTurn()
  }

  #writeItem(item: ConversationItem): void {
    switch (item.type) {
      case 'message':
        if (item.role === 'assistant') this.#addText(item)
        else this.#writeMessage(item)
        break
      case 'reasoning': {
        // Only the signature goes back, to the model that has set it; thoughts themselves are not wanted again.
        const signed = readSignature(opaqueForLane(item.opaque, this.#lane))
        if (signed?.on === 'call') this.#openTurn().signature = signed.signature
        else if (signed) this.#openTurn().parts.push({ text: '', thoughtSignature: signed.signature })
        break
      }
      case 'tool-call':
        this.#addCall(item)
        break
      case 'tool-result':
        this.#writeResult(item)
        break
      default:
        assertNever(item)
    }
  }

  #openTurn(): ModelTurn {
    this.#turn ??= { parts: [], calls: new Map(), signature: undefined }
    return this.#turn
  }

  #addText({ content }: MessageItem): void {
    for (const part of content) this.#leaveOutOther(part)
    const text = textAndRefusals(content).filter(Boolean).join(BREAK)
    if (text === '') return
    const { parts } = this.#openTurn()
    const last = parts.at(-1)
    // A signature is on the part before it, so later text is a part of its own.
    if (last === undefined || isCall(last) || last.thoughtSignature !== undefined) parts.push({ text })
    else last.text = `${last.text}${BREAK}${text}`
  }

  #addCall(call: CallItem): void {
    const turn = this.#openTurn()
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

  #writeResult(result: ResultItem): void {
    if (!this.#results.orphans.has(result)) {
      // It is written with its call; here it only ends the model's turn.
      if (this.#turn !== undefined && this.#turn.calls.size > 0) this.#endTurn()
      return
    }
    const { content } = result
    this.#endTurn()
    this.leftOut.add(clientName('strayResult', this.#lane.client))
    const text = `The result of a tool call that is not shown here:\n${partsText(content, '\n')}`
    this.#addParts('user', [{ text }, ...this.#otherParts(content)])
  }

  /** Instructions behind the beginning become a user's text, with their role in front. */
  #writeMessage({ role, content }: MessageItem): void {
    this.#endTurn()
    if (role === 'user') {
      const written = content.flatMap((part) => (isText(part) && part.text === '' ? [] : this.#writePart(part)))
      // An empty user message after the model's becomes `Go on.`, in this request and in all later ones.
      const isSilence = written.length === 0 && this.contents.at(-1)?.role === 'model'
      this.#addParts('user', isSilence ? [{ text: USER_GOES_ON }] : written)
      return
    }
    for (const part of content) this.#leaveOutOther(part)
    const text = partsText(content, '\n')
    if (text !== '') this.#addParts('user', [{ text: `[${role}] ${text}` }])
  }

  #writePart(part: ContentPart): Fields[] {
    const written = writePart(part)
    if (written !== undefined) {
      return part.type === 'file' && part.name ? [{ text: `[${part.name}]` }, written] : [written]
    }
    this.#leaveOutOther(part)
    return []
  }

  #otherParts(content: readonly ContentPart[]): Fields[] {
    return content.flatMap((part) => (isText(part) ? [] : this.#writePart(part)))
  }

  #leaveOutOther(part: ContentPart): void {
    if (isText(part)) return
    const isById = part.type === 'file' && part.id !== undefined
    this.leftOut.add(clientName(isById ? 'fileId' : part.type, this.#lane.client))
  }

  #addParts(role: Content['role'], parts: readonly Fields[]): void {
    if (parts.length === 0) return
    const last = this.contents.at(-1)
    // One by one: a client may send more parts than a function takes arguments.
    if (last?.role === role) for (const part of parts) last.parts.push(part)
    else this.contents.push({ role, parts: [...parts] })
  }

  /** Writes the text and calls of the model, and behind them the results of its calls. */
  #endTurn(): void {
    const turn = this.#turn
    this.#turn = undefined
    if (turn === undefined) return
    const { callIds, traits } = this.#lane.dialect
    const signed = [...turn.calls.values()]
    /** The id and name of each call. Without ids, the order pairs calls and results. */
    const heads = new Map(
      signed.map(({ call }) => [
        call,
        { ...(callIds ? { id: this.#ids.take(call.callId) } : {}), name: this.#names.upstreamName(call) },
      ]),
    )
    const parts = turn.parts.map((part) => {
      if (!isCall(part)) return part
      const signature = part.signature ?? (part === signed[0] && traits.signedCalls ? FOREIGN_CALL : undefined)
      return {
        functionCall: { ...heads.get(part.call), args: this.#readArguments(part.call) },
        ...(signature === undefined ? {} : { thoughtSignature: signature }),
      }
    })
    this.#addParts('model', parts)
    const beside: Fields[] = []
    const responses = signed.map(({ call }) => {
      const content = this.#results.byCall.get(call)?.content
      const shown = this.#otherParts(content ?? [])
      if (shown.length > 0) beside.push({ text: `${FROM_RESULT} ${this.#names.upstreamName(call)}:` })
      for (const part of shown) beside.push(part)
      const text = content === undefined ? ABORTED : partsText(content, '\n')
      // A response is an object; `result` shows that it was a text.
      const result = text === '' && shown.length > 0 ? RESULT_ELSEWHERE : text
      return { functionResponse: { ...heads.get(call), response: { result } } }
    })
    this.#addParts('user', [...responses, ...beside])
  }
}

/** Undefined for a part that has no place here: files are sent inline or by address, never by id. */
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

/** Google fetches addresses, and wants to know the media type. */
const writeAddress = (url: string, mimeType: string): Fields | undefined =>
  FETCHED.test(url) ? { fileData: { mimeType, fileUri: url } } : undefined

const FETCHED = /^https?:\/\//i

/** By the ending of a name or an address. */
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

/** The signature of a thought, and the kind of part that it came on: it goes back on the same kind. */
interface ThoughtSignature {
  readonly signature: string
  readonly on: SignedPart
}

export type SignedPart = 'call' | 'text'

/** Replaces the signature of a call that this model has not made: the documented value for histories from elsewhere. */
export const FOREIGN_CALL = 'skip_thought_signature_validator'

export const writeSignature = ({ signature, on }: ThoughtSignature): string =>
  JSON.stringify({ thoughtSignature: signature, on })

/** Undefined for anything else: a client may return any data. */
function readSignature(data: string | undefined): ThoughtSignature | undefined {
  const parsed = data === undefined ? undefined : tryParse(data)
  if (!isObject(parsed)) return undefined
  const { thoughtSignature: signature, on } = parsed
  if (typeof signature !== 'string' || signature === '' || (on !== 'call' && on !== 'text')) return undefined
  return { signature, on }
}
