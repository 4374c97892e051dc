import { type Fields, isObject } from '../lib/is-object.ts'
import { createTurnstile } from '../lib/take-turns.ts'
import type { Compacted } from '../model/compaction.ts'
import type { Opaque } from '../model/event.ts'
import { type Problem, problem } from '../model/problem.ts'
import type { ResponsesRequest } from '../model/turn.ts'
import { checkNames } from '../wire/fields/check-names.ts'
import { arrayElements } from '../wire/json/array-elements.ts'
import type { ParsedBody } from '../wire/parsed-body.ts'
import { isCallType, isOutputType, typeOfItem } from '../wire/responses/item-types.ts'
import { framedSummary } from '../wire/summary.ts'
import type { Envelopes } from './envelopes.ts'
import { type InputBounds, replaceInput } from './replace-input.ts'

export type OpenedInput =
  | ({ readonly kind: 'opened'; readonly body: ParsedBody; readonly hasTrigger: boolean } & Pick<
      ResponsesRequest,
      'sealed' | 'boundTo'
    >)
  | { readonly kind: 'refused'; readonly problem: Problem }

const INPUT = new Set(['input'])
/** Opened without a pause: less than a millisecond of envelopes as clients carry them. */
const OPENED_IN_A_ROW = 64

/** Of what a user has said before a compaction, in a conversation that we have put together: the last of it. */
const USER_BYTES_MAX = 32 * 1024

const passTurnstile = createTurnstile()

/** A request in which nothing is referred to any more. */
interface ExpandedBody {
  readonly body: ParsedBody
  /** How many of its items, from the first, were stored here and not sent by the client. */
  readonly previousItems: number
}

/**
 * Opens what the client has carried for us: sealed reasoning, which its provider gets back, and the conversation made
 * short, of which the summary is put in its place. What is malformed is not judged here.
 */
export async function openInput(
  bounds: InputBounds,
  envelopes: Envelopes,
  { body, previousItems }: ExpandedBody,
): Promise<OpenedInput> {
  const { input } = body.value
  if (!Array.isArray(input)) return { kind: 'opened', body, hasTrigger: false, ...NOTHING_SEALED }
  const opened = await openItems(envelopes, input)
  if ('code' in opened) return { kind: 'refused', problem: opened }
  const { sealed, compactions } = opened
  const hasTrigger = isObject(input.at(-1)) && input.at(-1).type === 'compaction_trigger'
  const boundTo = boundToBy(compactions)
  if (!hasTrigger && compactions.size === 0) return { kind: 'opened', body, hasTrigger, sealed, boundTo }
  const twice = checkNames(body.members, INPUT)
  if (twice) return { kind: 'refused', problem: twice }
  const untriggered = hasTrigger ? input.length - 1 : input.length
  const replaced = await replaceInput(bounds, body, itemsAfter({ body, previousItems }, compactions, untriggered))
  if ('code' in replaced) return { kind: 'refused', problem: replaced }
  return { kind: 'opened', body: replaced, hasTrigger, sealed, boundTo }
}

const NOTHING_SEALED = { sealed: new Map<string, Opaque>(), boundTo: undefined }

interface OpenedItems {
  readonly sealed: Map<string, Opaque>
  /** By their places in the input. */
  readonly compactions: Map<number, Compacted>
}

async function openItems(envelopes: Envelopes, input: readonly unknown[]): Promise<OpenedItems | Problem> {
  const opened: OpenedItems = { sealed: new Map(), compactions: new Map() }
  let count = 0
  for (const [index, item] of input.entries()) {
    if (!isObject(item) || typeof item.encrypted_content !== 'string' || item.encrypted_content === '') continue
    if (!openItem(envelopes, opened, index, item)) return notOurs(`input[${index}].encrypted_content`)
    count += 1
    if (count % OPENED_IN_A_ROW === 0) await passTurnstile()
  }
  return opened
}

/** False where it does not open. */
function openItem(envelopes: Envelopes, { sealed, compactions }: OpenedItems, index: number, item: Fields): boolean {
  const envelope = item.encrypted_content as string
  if (item.type === 'reasoning') {
    const opaque = sealed.get(envelope) ?? envelopes.openReasoning(envelope)
    if (opaque !== undefined) sealed.set(envelope, opaque)
    return opaque !== undefined
  }
  if (item.type !== 'compaction') return true
  const compacted = envelopes.openCompaction(envelope)
  if (compacted !== undefined) compactions.set(index, compacted)
  return compacted !== undefined
}

const notOurs = (param: string): Problem =>
  problem(
    'invalid_encrypted_content',
    `\`${param}\` cannot be opened: it was made by another service or for another account, or was changed on the way. Send back what this gateway gave you, unchanged, or leave the item out.`,
    { param },
  )

/** Only the last one goes to a model. */
function boundToBy(compactions: ReadonlyMap<number, Compacted>): string | undefined {
  const last = [...compactions.values()].at(-1)
  return last?.kind === 'native' ? last.opaque.origin : undefined
}

/** The items as a model gets them, each as JSON. */
function itemsAfter(
  { body, previousItems }: ExpandedBody,
  compactions: ReadonlyMap<number, Compacted>,
  end: number,
): Buffer[] {
  const input = body.value.input as readonly unknown[]
  const elements = elementsOf(body)
  const [at, compacted] = [...compactions].at(-1) ?? []
  if (at === undefined || compacted === undefined) return elements.slice(0, end)
  const answeredLater = new Set(input.slice(at).flatMap((item) => (isOutput(item) ? [item.call_id] : [])))
  let room = USER_BYTES_MAX
  const staysFromBefore = (item: unknown, { length }: Buffer): boolean => {
    if (isObject(item) && item.role === 'user') room -= length
    return room >= 0 || !isObject(item) || item.role !== 'user'
  }
  const before = elements
    .slice(0, at)
    .map((element, index) => ({ element, item: input[index], isOfClient: index >= previousItems }))
    .filter(({ item }) => staysBefore(item, answeredLater))
    .reverse()
    // What the client sends itself it keeps on purpose.
    .filter(({ element, item, isOfClient }) => isOfClient || staysFromBefore(item, element))
    .map(({ element }) => element)
    .reverse()
  return [...before, Buffer.from(JSON.stringify(itemOf(compacted))), ...elements.slice(at + 1, end)]
}

const isOutput = (item: unknown): item is Fields => isObject(item) && isOutputType(item.type)

const ROLES_THAT_STAY: ReadonlySet<unknown> = new Set(['user', 'system', 'developer'])

/**
 * What stands in front of a compaction has been made short in it. What its user and the system said may stay, if the client
 * sends it; what the model said, thought and called goes, but for a call whose result comes later.
 */
function staysBefore(item: unknown, answeredLater: ReadonlySet<unknown>): boolean {
  if (!isObject(item)) return true
  const type = typeOfItem(item)
  if (type === 'message') return ROLES_THAT_STAY.has(item.role)
  return type === 'additional_tools' || (isCallType(type) && answeredLater.has(item.call_id))
}

const itemOf = (compacted: Compacted): Fields =>
  compacted.kind === 'summary'
    ? { type: 'message', role: 'user', content: [{ type: 'input_text', text: framedSummary(compacted.text) }] }
    : { type: 'compaction', encrypted_content: compacted.opaque.data }

function elementsOf({ bytes, members }: ParsedBody): Buffer[] {
  const member = members.find(({ name }) => name === 'input')
  return member === undefined ? [] : arrayElements(bytes.subarray(member.valueStart, member.valueEnd))
}
