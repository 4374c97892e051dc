import type { Catalog } from '../../catalog/catalog.ts'
import { findModel } from '../../catalog/resolve-model.ts'
import { RESPONSE_ITEMS_MAX } from '../../content/stored-responses.ts'
import type { Caller } from '../../model/caller.ts'
import { type Problem, problem } from '../../model/problem.ts'
import type { Seals } from '../../model/seals.ts'
import type { Protocol, ResponsesRequest } from '../../model/turn.ts'
import { readRequest as readChatRequest } from '../../wire/chat/read-request.ts'
import { type Malformed, malformed, type ParsedBody } from '../../wire/request-reader.ts'
import { readRequest as readResponsesRequest } from '../../wire/responses/read-request.ts'
import { withSummaryRequest } from '../lane/compaction-size.ts'
import type { AskedTurn } from '../turn.ts'
import { envelopesOf } from './envelopes.ts'
import { type ExpandDeps, expandInput } from './expand-input.ts'
import { openInput } from './open-input.ts'

/** What happens to a tool that only a provider could run: left out and named, or the request is refused. */
export type HostedTools = 'ignore' | 'reject'

/** Where a body was sent to: what runs a turn, in the words of its protocol. */
export type TurnEndpoint = Protocol | 'compact'

/** A body, and whereto and by whom it was sent. */
export interface SentBody {
  readonly endpoint: TurnEndpoint
  readonly caller: Caller
  readonly body: ParsedBody
}

export interface ReadDeps extends ExpandDeps {
  readonly seals: Seals
  readonly catalog: Catalog
  readonly hostedTools: HostedTools
}

/** The request that a body is. */
export type ReadTurn = ({ readonly kind: 'read' } & Pick<AskedTurn, 'request' | 'ownInput'>) | Malformed

/** Reads the request, with all that it refers to by id in its place. */
export async function readTurn(deps: ReadDeps, sent: SentBody): Promise<ReadTurn> {
  const read = sent.endpoint === 'chat' ? readChatTurn(sent) : await readResponsesTurn(deps, sent)
  const hosted = read.kind === 'read' ? read.request.ignoredTools[0] : undefined
  if (hosted === undefined || deps.hostedTools === 'ignore') return read
  const message = `A tool of type ${JSON.stringify(hosted.slice(0, SHOWN_MAX))} is declared, and this gateway does not accept tools that a provider runs. Leave it out.`
  return malformed(problem('unsupported_tool', message, { param: 'tools' }))
}

const SHOWN_MAX = 40

function readChatTurn({ body }: SentBody): ReadTurn {
  const read = readChatRequest(body)
  return read.kind === 'malformed' ? read : { kind: 'read', request: read.turn }
}

/** What it refers to comes first, then what is sealed in that: whoever reads the request sees one whole input. */
async function readResponsesTurn(deps: ReadDeps, { endpoint, caller, body }: SentBody): Promise<ReadTurn> {
  const isAtEndpoint = endpoint === 'compact'
  const refused = isAtEndpoint ? checkCompact(body) : undefined
  if (refused) return malformed(refused)
  const asks = { unavailable: missingModel(deps, caller, body), mayBeBare: isAtEndpoint }
  const expanded = await expandInput(deps, caller.account, body, asks)
  if (expanded.kind === 'refused') return malformed(expanded.problem)
  const opened = await openInput(deps.bounds, envelopesOf(deps.seals, caller.accountId), expanded)
  if (opened.kind === 'refused') return malformed(opened.problem)
  const { sealed, boundTo, hasTrigger } = opened
  const compacts = isAtEndpoint ? 'at-endpoint' : hasTrigger ? 'by-trigger' : undefined
  const found = { sealed, boundTo, compacts, previousResponseId: expanded.previous } as const
  const read = readResponsesRequest(opened.body, found)
  if (read.kind === 'malformed') return read
  // The trigger is no part of the conversation.
  const ownInput = hasTrigger ? () => expanded.ownInput().slice(0, -1) : expanded.ownInput
  const { turn } = read
  const inputSize = compacts === undefined ? turn.inputSize : withSummaryRequest(turn.inputSize)
  const store = deps.responses.keeps && mayBeStored({ ...turn, inputSize }, ownInput)
  return { kind: 'read', request: { ...turn, inputSize, store }, ownInput }
}

function missingModel({ catalog }: ReadDeps, caller: Caller, { value: { model } }: ParsedBody): Problem | undefined {
  const named = typeof model === 'string' ? findModel(catalog, caller, model) : undefined
  return named?.kind === 'refused' ? named.problem : undefined
}

/** What will not be stored says so from its beginning. What the endpoint for compactions answers is no response. */
function mayBeStored({ store, compacts, inputSize }: ResponsesRequest, ownInput: () => readonly Buffer[]): boolean {
  if (!store || compacts === 'at-endpoint') return false
  return inputSize.messages < RESPONSE_ITEMS_MAX || ownInput().length < RESPONSE_ITEMS_MAX
}

function checkCompact({ value }: ParsedBody): Problem | undefined {
  if (value.stream !== true) return undefined
  const message = 'A conversation is made short in one piece: `stream` is not possible at this endpoint. Leave it out.'
  return problem('unsupported_parameter', message, { param: 'stream' })
}
