import { type Fields, isObject } from '../../lib/types.ts'
import type { Compacted, ResponsesRequest } from '../../model/turn.ts'
import { jsonArray, writtenMember } from '../json/bytes.ts'
import type { CompactedSize, CompactionReader, MintIds, ParsedBody } from '../shared/codec-types.ts'
import type { StreamState } from '../shared/stream-state.ts'
import { framedSummary, isFramedSummary } from '../shared/summary.ts'
import type { EmitOptions } from './emit-items.ts'
import { elementsOfBody, inputElements, isCallType, isOutputType, typeOfItem } from './input-items.ts'
import type { OutputItem } from './item-events.ts'
import { createItemEventReader } from './read-stream.ts'

/** A request body whose references are replaced by the items themselves. */
export interface ExpandedBody {
  readonly body: ParsedBody
  /** How many of its items, from the first, were stored here and not sent by the client. */
  readonly previousItems: number
}

/**
 * The items of an input as a model gets them, each as JSON: the last compaction replaces what came before it. `compactions` is
 * keyed by index in the input.
 */
export function itemsAfterCompaction(
  { body, previousItems }: ExpandedBody,
  compactions: ReadonlyMap<number, Compacted>,
): Buffer[] {
  const elements = elementsOfBody(body)
  const [at, compacted] = [...compactions].at(-1) ?? []
  if (at === undefined || compacted === undefined) return elements
  const before = keptBefore(body.value.input as readonly unknown[], elements, { at, previousItems })
  const item =
    compacted.kind === 'summary'
      ? { type: 'message', role: 'user', content: [{ type: 'input_text', text: framedSummary(compacted.text) }] }
      : { type: 'compaction', encrypted_content: compacted.opaque.data }
  return [...before, Buffer.from(JSON.stringify(item)), ...elements.slice(at + 1)]
}

/** The last user messages of a context that we put together stay word for word, up to this size. */
const USER_BYTES_MAX = 32 * 1024

/**
 * The items in front of the compaction at `at` that still go to the model: messages of the user and the system. Messages,
 * reasoning and calls of the model are dropped, except for a call whose result comes later.
 */
function keptBefore(
  items: readonly unknown[],
  elements: readonly Buffer[],
  { at, previousItems }: { readonly at: number; readonly previousItems: number },
): Buffer[] {
  const isOutput = (item: unknown): item is Fields => isObject(item) && isOutputType(item.type)
  const answeredLater = new Set(items.slice(at).flatMap((item) => (isOutput(item) ? [item.call_id] : [])))
  const kept: Buffer[] = []
  let room = USER_BYTES_MAX
  for (let index = at - 1; index >= 0; index--) {
    const [item, element] = [items[index], elements[index]]
    if (element === undefined || !mayStay(item, answeredLater)) continue
    // Items that the client sends itself are not bounded: it keeps them on purpose.
    const isBounded = index < previousItems && isObject(item) && item.role === 'user'
    if (isBounded) room -= element.length
    if (!isBounded || room >= 0) kept.push(element)
  }
  return kept.reverse()
}

function mayStay(item: unknown, answeredLater: ReadonlySet<unknown>): boolean {
  // A malformed item stays, so that the check of the input refuses it.
  if (!isObject(item) || isMessageThatStays(item)) return true
  const type = typeOfItem(item)
  return type === 'additional_tools' || (isCallType(type) && answeredLater.has(item.call_id))
}

/** The compaction endpoint keeps these messages beside a compaction, so they must pass here again. */
const isMessageThatStays = (item: Readonly<Fields>): boolean =>
  typeOfItem(item) === 'message' && ROLES_THAT_STAY.has(item.role)

const ROLES_THAT_STAY: ReadonlySet<unknown> = new Set(['user', 'system', 'developer'])

/** At most a quarter of a short conversation stays word for word beside its summary. */
const USER_SHARE = 4

/**
 * The messages that the compaction endpoint keeps, because its answer is the whole context of the next request: those of the
 * system, and the last ones of the user.
 */
export function keptItems({ body }: Pick<ResponsesRequest, 'body'>, mint: MintIds): readonly Fields[] {
  const elements = elementsOfBody(body)
  const bytes = elements.reduce((sum, { length }) => sum + length, 0)
  let room = Math.min(USER_BYTES_MAX, Math.floor(bytes / USER_SHARE))
  const kept: Fields[] = []
  for (const element of elements.toReversed()) {
    const item = JSON.parse(element.toString('utf8')) as Fields
    // The new summary contains an earlier one.
    if (!isMessageThatStays(item) || isSummary(item)) continue
    const { role, content } = item
    const whole = {
      id: mint.itemId('msg'),
      type: 'message',
      role,
      status: 'completed',
      content: typeof content === 'string' ? [{ type: 'input_text', text: content }] : content,
    }
    if (role === 'user') room -= Buffer.byteLength(JSON.stringify(whole))
    if (role !== 'user' || room >= 0) kept.push(whole)
  }
  return kept.reverse()
}

const isSummary = ({ content }: Fields): boolean =>
  Array.isArray(content) && content.length === 1 && isObject(content[0]) && isFramedSummary(content[0].text)

/** Reads the answer of a provider that compacts conversations itself: only its sealed item is of use. */
interface NativeCompactionReader extends CompactionReader {
  /** The answer is complete, is not truncated, and has no sealed item. */
  readonly hasFailed: boolean
}

export function createNativeCompactionReader(origin: string): NativeCompactionReader {
  const items = createItemEventReader(origin)
  const state: StreamState = { ...items.state }
  let item: OutputItem | undefined
  const reader = {
    state,
    hasFailed: false,
    read(frame: Buffer) {
      for (const event of items.read(frame)) if (event.item.kind === 'compaction') item = event.item
      Object.assign(state, items.state, { heldBytes: items.state.outputBytes })
      if (!state.finished || item?.opaque !== undefined) return
      // A truncated answer shows the client's output limit, not a failure of the server.
      reader.hasFailed = items.ending()?.kind === 'completed'
      state.finished = false
      state.error ??= { message: 'The provider did not shorten the conversation.', code: 'server_error' }
    },
    compacted(): Compacted {
      const opaque = item?.opaque
      if (opaque === undefined) throw new Error('an answer without a sealed item cannot stand for a conversation')
      return { kind: 'native', opaque }
    },
  }
  return reader
}

const TRIGGER = Buffer.from('{"type":"compaction_trigger"}')

/** The request with a last item that asks the provider to compact the conversation. */
export function withTrigger(request: ResponsesRequest): ResponsesRequest {
  const input = writtenMember(request, 'input')
  const items = input === undefined ? [] : inputElements(input)
  return { ...request, rewritten: new Map([...request.rewritten, ['input', jsonArray([...items, TRIGGER])]]) }
}

/** What replaces a conversation from now on. */
export interface CompactedOutput {
  /** The sealed item last, and at the endpoint the kept messages before it. */
  readonly items: readonly Fields[]
  readonly size: CompactedSize
}

export function compactedOutput(
  compacted: Compacted,
  {
    request,
    mint,
    sealCompaction,
  }: Pick<EmitOptions, 'mint' | 'sealCompaction'> & { readonly request: ResponsesRequest },
): CompactedOutput {
  const kept = request.compacts === 'at-endpoint' ? keptItems(request, mint) : []
  const item = { id: mint.itemId('cmp'), type: 'compaction', encrypted_content: sealCompaction(compacted) }
  const keptBytes = kept.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message.content)), 0)
  const summaryBytes = compacted.kind === 'summary' ? Buffer.byteLength(framedSummary(compacted.text)) : 0
  return {
    items: [...kept, item],
    size: { bytes: keptBytes + summaryBytes, hasSealed: compacted.kind === 'native' },
  }
}
