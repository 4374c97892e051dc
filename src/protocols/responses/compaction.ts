import { type Fields, isObject } from '../../lib/types.ts'
import type { SettledCharge } from '../../model/ending.ts'
import type { Compacted, ResponsesRequest } from '../../model/turn.ts'
import { jsonArray } from '../json/elements.ts'
import { writtenMember } from '../json/strings.ts'
import { type CompactedSize, NOTHING_ENCODED, type StreamAdapter } from '../shared/client-encoder.ts'
import type { CompactionReader, MintIds, ParsedBody } from '../shared/event-reader.ts'
import type { StreamState } from '../shared/stream-state.ts'
import { framedSummary, isFramedSummary } from '../shared/summary.ts'
import { DONE_FRAME } from '../sse/frame-data.ts'
import { elementsOfBody, inputElements } from './input-items.ts'
import type { Framing } from './item-frames.ts'
import { isCallType, isOutputType, type OutputItem, typeOfItem } from './item-events.ts'
import { createItemEventReader } from './read-stream.ts'
import { type ResponseOptions, type ResponseState, writeUsage } from './response-object.ts'
import type { Sealing } from './write-item.ts'

/** A request in which nothing is referred to any more. */
export interface ExpandedBody {
  readonly body: ParsedBody
  /** How many of its items, from the first, were stored here and not sent by the client. */
  readonly previousItems: number
}

/**
 * The items of an input as a model gets them, each as JSON: the last compaction stands for what went before it. The
 * compactions are given by their places.
 */
export function itemsAfterCompaction(
  { body, previousItems }: ExpandedBody,
  compactions: ReadonlyMap<number, Compacted>,
): Buffer[] {
  const items = body.value.input as readonly unknown[]
  const elements = elementsOfBody(body)
  const [at, compacted] = [...compactions].at(-1) ?? []
  if (at === undefined || compacted === undefined) return elements
  const before = staysBefore({ items, elements, previousItems }, at)
  return [...before, Buffer.from(JSON.stringify(itemOf(compacted))), ...elements.slice(at + 1)]
}

const itemOf = (compacted: Compacted): Fields =>
  compacted.kind === 'summary'
    ? { type: 'message', role: 'user', content: [{ type: 'input_text', text: framedSummary(compacted.text) }] }
    : { type: 'compaction', encrypted_content: compacted.opaque.data }

interface Conversation {
  readonly items: readonly unknown[]
  /** The same, each as JSON. */
  readonly elements: readonly Buffer[]
  readonly previousItems: number
}

/** Of what a user has said before, in a context that we have put together: the last of it stays word for word. */
const USER_BYTES_MAX = 32 * 1024

/**
 * What of a conversation goes to a model beside the compaction that stands at this place, in which all before it was made
 * short: what its user and the system said. What the model said, thought and called goes, but for a call whose result comes
 * later.
 */
function staysBefore({ items, elements, previousItems }: Conversation, at: number): Buffer[] {
  const answeredLater = new Set(items.slice(at).flatMap((item) => (isOutput(item) ? [item.call_id] : [])))
  const stays: Buffer[] = []
  let room = USER_BYTES_MAX
  for (let index = at - 1; index >= 0; index--) {
    const [item, element] = [items[index], elements[index]]
    if (element === undefined || !mayStay(item, answeredLater)) continue
    // What the client sends itself it keeps on purpose.
    const isBounded = index < previousItems && isObject(item) && item.role === 'user'
    if (isBounded) room -= element.length
    if (!isBounded || room >= 0) stays.push(element)
  }
  return stays.reverse()
}

const isOutput = (item: unknown): item is Fields => isObject(item) && isOutputType(item.type)

function mayStay(item: unknown, answeredLater: ReadonlySet<unknown>): boolean {
  // What is malformed is for who judges items.
  if (!isObject(item) || isMessageThatStays(item)) return true
  const type = typeOfItem(item)
  return type === 'additional_tools' || (isCallType(type) && answeredLater.has(item.call_id))
}

/** Of the user or the system: what the endpoint for compactions leaves beside one has to be let through here again. */
const isMessageThatStays = (item: Readonly<Fields>): boolean =>
  typeOfItem(item) === 'message' && ROLES_THAT_STAY.has(item.role)

const ROLES_THAT_STAY: ReadonlySet<unknown> = new Set(['user', 'system', 'developer'])

/** Of a conversation that is short itself less stays word for word beside its summary: a quarter. */
const USER_SHARE = 4

/**
 * The messages that stay as they are when a conversation is made short at the endpoint, whose answer is the whole context
 * of the next request: what the system says, and the last of what the user has said.
 */
export function keptItems({ body }: Pick<ResponsesRequest, 'body'>, mint: MintIds): readonly Fields[] {
  const elements = elementsOfBody(body)
  const messages = elements.map((element) => JSON.parse(element.toString('utf8')) as Fields).filter(staysBeside)
  const bytes = elements.reduce((sum, { length }) => sum + length, 0)
  let room = Math.min(USER_BYTES_MAX, Math.floor(bytes / USER_SHARE))
  const kept: Fields[] = []
  for (const message of messages.toReversed()) {
    const whole = wholeMessage(message, mint)
    if (message.role === 'user') room -= Buffer.byteLength(JSON.stringify(whole))
    if (message.role !== 'user' || room >= 0) kept.push(whole)
  }
  return kept.reverse()
}

const staysBeside = (item: Fields): boolean => isMessageThatStays(item) && !isSummary(item)

/** An earlier summary is in the new one, and no word of the user's. */
const isSummary = ({ content }: Fields): boolean =>
  Array.isArray(content) && content.length === 1 && isObject(content[0]) && isFramedSummary(content[0].text)

/** With all that clients expect of an item that they are given. */
const wholeMessage = ({ role, content }: Fields, mint: MintIds): Fields => ({
  id: mint.itemId('msg'),
  type: 'message',
  role,
  status: 'completed',
  content: typeof content === 'string' ? [{ type: 'input_text', text: content }] : content,
})

/** Reads the answer of a provider that makes conversations short itself: one sealed item, and nothing else of use. */
interface NativeCompactionReader extends CompactionReader {
  /** The answer is whole, was not cut, and has no such item. */
  readonly hasFailed: boolean
}

export function createNativeCompactionReader(origin: string): NativeCompactionReader {
  const steps = createItemEventReader(origin)
  const state: StreamState = { ...steps.state }
  let item: OutputItem | undefined
  const reader = {
    state,
    hasFailed: false,
    read(frame: Buffer) {
      for (const step of steps.read(frame)) if (step.item.kind === 'compaction') item = step.item
      Object.assign(state, steps.state, { heldBytes: steps.state.outputBytes })
      if (!state.finished || item?.opaque !== undefined) return
      // One that was cut says what its client has let it say, and nothing about the server.
      reader.hasFailed = steps.ending()?.kind === 'completed'
      state.finished = false
      state.error ??= NOT_COMPACTED
    },
    compacted(): Compacted {
      const opaque = item?.opaque
      if (opaque === undefined) throw new Error('an answer without a sealed item cannot stand for a conversation')
      return { kind: 'native', opaque }
    },
  }
  return reader
}

const NOT_COMPACTED = { message: 'The provider did not make the conversation short.', code: 'server_error' }

const TRIGGER = Buffer.from('{"type":"compaction_trigger"}')

/** As a request that asks a provider to make the conversation short: by the last of its items. */
export function withTrigger(request: ResponsesRequest): ResponsesRequest {
  const input = writtenMember(request, 'input')
  const items = input === undefined ? [] : inputElements(input)
  return { ...request, rewritten: new Map([...request.rewritten, ['input', jsonArray([...items, TRIGGER])]]) }
}

/** What of a voice it takes to tell of a conversation that was made short. */
interface CompactionSpeaker {
  readonly options: CompactionMeans & Pick<ResponseOptions, 'responseId' | 'createdAt'>
  readonly framing: Framing
  /** What is said from here on is said once, however often it is worked out. */
  beginEnd(): void
  /** The response as it stands at its end. */
  finish(state: Pick<ResponseState, 'status' | 'output' | 'usage'>): ResponseState
}

/** Nothing is told of it before the whole is there: until then another lane may be tried. */
export function encodeCompaction(reader: CompactionReader, speaker: CompactionSpeaker): StreamAdapter {
  let output: CompactedOutput | undefined
  const outputOnce = () => {
    output ??= compactedOutput(speaker.options, reader.compacted())
    return output
  }
  return {
    state: reader.state,
    read(frame) {
      reader.read(frame)
      return NOTHING_ENCODED
    },
    readTemplated: () => undefined,
    compactedSize: () => outputOnce().size,
    close: (settled) => Buffer.from(close(speaker, outputOnce(), settled)),
  }
}

function close(speaker: CompactionSpeaker, output: CompactedOutput, settled: SettledCharge): string {
  const { options, framing } = speaker
  const usage = writeUsage(settled)
  if (options.request.compacts === 'at-endpoint') return compactionJson(options, output, usage)
  const isStream = options.request.delivery === 'stream'
  if (isStream) speaker.beginEnd()
  const state = speaker.finish({ status: 'completed', output: output.items, usage })
  if (!isStream) return framing.responseJson(state)
  const opening = framing.opening() + framesOf(framing, output)
  return opening + framing.responseFrame('response.completed', state) + DONE_FRAME.toString()
}

/** One item, without the words that other items grow by. */
const framesOf = (framing: Framing, { items }: CompactedOutput): string =>
  ['response.output_item.added', 'response.output_item.done']
    .map((type) => framing.frame(type, { output_index: 0, item: items.at(-1) }))
    .join('')

/** The answer of the endpoint is an object of its own. */
const compactionJson = (
  { responseId, createdAt }: CompactionSpeaker['options'],
  { items }: CompactedOutput,
  usage: Fields,
): string =>
  JSON.stringify({ id: responseId, object: 'response.compaction', created_at: createdAt, output: items, usage })

/** What stands in the place of a conversation from now on. */
interface CompactedOutput {
  /** All of it: the sealed item, which is the last, and at the endpoint what stays beside it. */
  readonly items: readonly [...Fields[], Fields]
  readonly size: CompactedSize
}

interface CompactionMeans extends Pick<Sealing, 'sealCompaction'> {
  readonly request: ResponsesRequest
  readonly mint: MintIds
}

function compactedOutput({ request, mint, sealCompaction }: CompactionMeans, compacted: Compacted): CompactedOutput {
  const kept = request.compacts === 'at-endpoint' ? keptItems(request, mint) : []
  const item = { id: mint.itemId('cmp'), type: 'compaction', encrypted_content: sealCompaction(compacted) }
  const keptBytes = kept.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message.content)), 0)
  const summaryBytes = compacted.kind === 'summary' ? Buffer.byteLength(framedSummary(compacted.text)) : 0
  return {
    items: [...kept, item],
    size: { bytes: keptBytes + summaryBytes, hasSealed: compacted.kind === 'native' },
  }
}
