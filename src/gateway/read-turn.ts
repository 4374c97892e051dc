import { isAscii } from 'node:buffer'
import type { Catalog } from '../catalog/catalog.ts'
import { resolveModel } from '../catalog/resolve-model.ts'
import { RESPONSE_ITEMS_MAX } from '../db/content/stored-responses.ts'
import { createTurnstile } from '../lib/async.ts'
import { type Fields, isObject } from '../lib/types.ts'
import { type Caller, readScopeOf } from '../model/caller.ts'
import type { Opaque, Seals } from '../model/event.ts'
import { type Problem, problem, type Refused, refused } from '../model/problem.ts'
import type { Compacted, Protocol, ResponsesRequest, TurnRequest } from '../model/turn.ts'
import { parseRequest as parseChatRequest } from '../protocols/chat/parse-request.ts'
import { checkNames } from '../protocols/fields/check-value.ts'
import { memberBytes } from '../protocols/json/bytes.ts'
import { type ExpandedBody, itemsAfterCompaction } from '../protocols/responses/compaction.ts'
import { parseRequest as parseResponsesRequest } from '../protocols/responses/parse-request.ts'
import type { ParsedBody, ReadRequestOutcome } from '../protocols/shared/codec-types.ts'
import { type Envelopes, envelopesOf } from './seals.ts'
import {
  type ExpandedRequest,
  type ExpandServices,
  expandInput,
  type InputBounds,
  replaceInput,
} from './stored-input.ts'
import type { Turn, TurnServices } from './turn.ts'

/** Tools that only a provider can run are left out and named, or the request is refused. */
export type HostedTools = 'ignore' | 'reject'

/** The endpoints that run a turn. */
export type TurnEndpoint = Protocol | 'compact'

export interface SentBody {
  readonly endpoint: TurnEndpoint
  readonly caller: Caller
  readonly body: ParsedBody
}

export interface ReadServices extends ExpandServices {
  readonly seals: Seals
  readonly catalog: Catalog
  readonly hostedTools: HostedTools
}

/** Parses a request, with everything that it refers to by id inserted. */
export async function readTurn(deps: ReadServices, sent: SentBody): Promise<ReadRequestOutcome> {
  const read = sent.endpoint === 'chat' ? parseChatRequest(sent.body) : await readResponsesTurn(deps, sent)
  const hosted = read.kind === 'read' ? read.request.ignoredTools[0] : undefined
  if (hosted === undefined || deps.hostedTools === 'ignore') return read
  const message = `A tool of type ${JSON.stringify(hosted.slice(0, SHOWN_MAX))} is declared, and this gateway does not accept tools that a provider runs. Leave it out.`
  return refused(problem('unsupported_tool', message, { param: 'tools' }))
}

const SHOWN_MAX = 40

/** References are resolved first, then seals are opened, so that the parser sees one whole input. */
async function readResponsesTurn(
  deps: ReadServices,
  { endpoint, caller, body }: SentBody,
): Promise<ReadRequestOutcome> {
  const isCompactEndpoint = endpoint === 'compact'
  const wrong = isCompactEndpoint ? checkCompact(body) : undefined
  if (wrong) return refused(wrong)
  const refuse = () => missingModel(deps, caller, body)
  const expanded = await expandInput(deps, readScopeOf(caller), body, { refuse })
  if (expanded.kind === 'refused') return expanded
  const opened = await openInput(deps.bounds, envelopesOf(deps.seals, caller.accountId), expanded)
  if (opened.kind === 'refused') return opened
  const { sealed, boundTo, isCompacted, hasTrigger } = opened
  return parseResponsesRequest(opened.body, {
    sealed,
    boundTo,
    isCompacted,
    previousResponseId: expanded.previous,
    previousItems: expanded.previousItems,
    compacts: isCompactEndpoint ? 'at-endpoint' : hasTrigger ? 'by-trigger' : undefined,
    // The endpoint for compactions answers with no response object.
    storable: deps.responses.keeps && !isCompactEndpoint ? storableInput(expanded, hasTrigger) : undefined,
  })
}

/** Admission finds the model. Here it is checked only so that nothing is fetched for a model that does not exist. */
function missingModel(
  { catalog }: ReadServices,
  caller: Caller,
  { value: { model } }: ParsedBody,
): Problem | undefined {
  const named = typeof model === 'string' ? resolveModel(catalog, caller, { model }) : undefined
  return named?.kind === 'refused' ? named.problem : undefined
}

/** A response that would have too many items is not stored from its beginning. The trigger is no part of the conversation. */
function storableInput(
  { body, previousItems, ownInput }: ExpandedRequest,
  hasTrigger: boolean,
): ResponsesRequest['storedInput'] {
  const { input } = body.value
  const items = Array.isArray(input) ? input.length : 1
  const ownItems = items - previousItems - (hasTrigger ? 1 : 0)
  if (ownItems >= RESPONSE_ITEMS_MAX) return undefined
  return hasTrigger ? () => ownInput().slice(0, -1) : ownInput
}

function checkCompact({ value }: ParsedBody): Problem | undefined {
  if (value.stream !== true) return undefined
  const message = 'This endpoint returns one JSON object: `stream` is not supported. Leave it out.'
  return problem('unsupported_parameter', message, { param: 'stream' })
}

type OpenedInput =
  | ({ readonly kind: 'opened'; readonly body: ParsedBody; readonly hasTrigger: boolean } & Pick<
      ResponsesRequest,
      'sealed' | 'boundTo' | 'isCompacted'
    >)
  | Refused

const INPUT = new Set(['input'])
/** Opened without a pause: a few milliseconds, of the smallest envelopes or of the largest. */
const OPENED_IN_A_ROW = 64
const OPENED_CHARACTERS_IN_A_ROW = 1024 * 1024

const passTurnstile = createTurnstile()

/**
 * Opens what the client carries for us: sealed reasoning, which its provider gets back, and compactions, whose summary replaces
 * them. Malformed input is left to the parser.
 */
export async function openInput(
  bounds: InputBounds,
  envelopes: Envelopes,
  expanded: ExpandedBody,
): Promise<OpenedInput> {
  const { body } = expanded
  const { input } = body.value
  if (!Array.isArray(input))
    return { kind: 'opened', body, hasTrigger: false, sealed: NOTHING_SEALED, boundTo: undefined, isCompacted: false }
  const opened = await openSealed(envelopes, input)
  if (opened.kind === 'refused') return opened
  const { sealed, compactions } = opened
  const hasTrigger = isObject(input.at(-1)) && input.at(-1).type === 'compaction_trigger'
  const boundTo = boundToBy(compactions)
  const isCompacted = compactions.size > 0
  if (!hasTrigger && !isCompacted) return { kind: 'opened', body, hasTrigger, sealed, boundTo, isCompacted }
  const twice = checkNames(body.members, INPUT)
  if (twice) return refused(twice)
  const items = itemsAfterCompaction(expanded, compactions)
  const replaced = await replaceInput(bounds, body, hasTrigger ? items.slice(0, -1) : items)
  if (replaced.kind === 'refused') return replaced
  return { kind: 'opened', body: replaced.body, hasTrigger, sealed, boundTo, isCompacted }
}

const NOTHING_SEALED = new Map<string, Opaque>()

interface OpenedItems {
  readonly kind: 'opened'
  readonly sealed: Map<string, Opaque>
  /** By their index in the input. */
  readonly compactions: Map<number, Compacted>
}

async function openSealed(envelopes: Envelopes, input: readonly unknown[]): Promise<OpenedItems | Refused> {
  const opened: OpenedItems = { kind: 'opened', sealed: new Map(), compactions: new Map() }
  let count = 0
  let characters = 0
  for (const [index, item] of input.entries()) {
    if (!isObject(item) || typeof item.encrypted_content !== 'string') continue
    // Clients send reasoning back that was never sealed; a compaction without content is lost.
    if (item.encrypted_content === '' && item.type !== 'compaction') continue
    if (!openItem(envelopes, opened, index, item)) return refused(notOurs(`input[${index}].encrypted_content`))
    count += 1
    characters += item.encrypted_content.length
    if (count < OPENED_IN_A_ROW && characters < OPENED_CHARACTERS_IN_A_ROW) continue
    await passTurnstile()
    count = 0
    characters = 0
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

/** Only the last compaction goes to a model. */
function boundToBy(compactions: ReadonlyMap<number, Compacted>): string | undefined {
  const last = [...compactions.values()].at(-1)
  return last?.kind === 'native' ? last.opaque.origin : undefined
}

/** What the heap holds for each of them, in bytes, rounded up. */
const MEMBER_BYTES = 128
const OTHER_INPUT_BYTES = 192
const LISTED_NAME_BYTES = 64
/** A tool name, as the client has it and as its lane has it. */
const TOOL_NAME_BYTES = 512
/** What a response writes of a tool besides what its client sent. */
const TOOL_ECHO_BYTES = 64

/**
 * How much memory a request takes until its first content: the body stays for a failover, and what is written for a lane is as
 * long once more.
 */
export function bytesUntilContent(request: TurnRequest): number {
  const { body, rewritten, otherInputs, ignoredTools, optionalFields, toolNames } = request
  let bytes = body.bytes.length
  for (const replacement of rewritten.values()) bytes += replacement?.length ?? 0
  return (
    2 * bytes +
    body.members.length * MEMBER_BYTES +
    otherInputs.length * OTHER_INPUT_BYTES +
    (ignoredTools.length + optionalFields.length) * LISTED_NAME_BYTES +
    toolNames * TOOL_NAME_BYTES +
    (request.protocol === 'chat' ? 0 : echoBytes(request) + sealedBytes(request))
  )
}

/** A response object repeats everything but the input, as text. */
function echoBytes(request: TurnRequest): number {
  const { bytes } = request.body
  const repeated = bytes.length - (memberBytes(request.body, 'input')?.length ?? 0)
  return repeated * (isAscii(bytes) ? 1 : 2) + request.inputSize.tools * TOOL_ECHO_BYTES
}

function sealedBytes(request: TurnRequest): number {
  let bytes = 0
  if (request.protocol === 'responses')
    for (const [envelope, { data }] of request.sealed) bytes += envelope.length + data.length
  return bytes
}

/** Below, what a turn keeps is less than its sockets take. */
export const RELEASED_BYTES_MIN = 64 * 1024
const NOTHING = Buffer.alloc(0)

/**
 * Called for requests of `RELEASED_BYTES_MIN` or more. After the first content there is no failover, so most turns do not need the body of their request any more. What was written
 * for the lane stays, because the HTTP client holds a body until its answer has ended.
 */
export function releaseBody({ seenPrefixes }: TurnServices, turn: Turn): void {
  const { request, encoder, prompt, price } = turn
  const bytes = bytesUntilContent(request)
  // A stored response needs its input at the end, and so does a compaction.
  if (request.compacts !== undefined || (request.protocol === 'responses' && request.storedInput !== undefined)) {
    turn.onContent?.(bytes)
    return
  }
  const kept = bytes - request.body.bytes.length - sealedBytes(request)
  if (prompt) seenPrefixes.digest(prompt, { isWanted: price.cachedInput < price.input })
  if (encoder.protocol === 'responses') encoder.forgetBody()
  request.body.bytes = NOTHING
  request.body.members = []
  request.rewritten.clear()
  if (request.protocol === 'responses') request.sealed.clear()
  turn.onContent?.(kept)
}
