import type { Catalog } from '../../catalog/catalog.ts'
import { findModel } from '../../catalog/resolve-model.ts'
import { RESPONSE_ITEMS_MAX } from '../../content/stored-responses.ts'
import type { Caller } from '../../model/caller.ts'
import { type Problem, problem, refused } from '../../model/problem.ts'
import type { Seals } from '../../model/seals.ts'
import type { Protocol, ResponsesRequest } from '../../model/turn.ts'
import { readRequest as readChatRequest } from '../../wire/chat/read-request.ts'
import type { ParsedBody, ReadRequestOutcome } from '../../wire/request-reader.ts'
import { readRequest as readResponsesRequest } from '../../wire/responses/read-request.ts'
import { envelopesOf } from '../envelopes.ts'
import { type ExpandDeps, type ExpandedRequest, expandInput } from './expand-input.ts'
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

/** Reads the request that a body is, with all that it refers to by id in its place. */
export async function readTurn(deps: ReadDeps, sent: SentBody): Promise<ReadRequestOutcome> {
  const read = sent.endpoint === 'chat' ? readChatRequest(sent.body) : await readResponsesTurn(deps, sent)
  const hosted = read.kind === 'read' ? read.request.ignoredTools[0] : undefined
  if (hosted === undefined || deps.hostedTools === 'ignore') return read
  const message = `A tool of type ${JSON.stringify(hosted.slice(0, SHOWN_MAX))} is declared, and this gateway does not accept tools that a provider runs. Leave it out.`
  return refused(problem('unsupported_tool', message, { param: 'tools' }))
}

const SHOWN_MAX = 40

/** What it refers to comes first, then what is sealed in that: whoever reads the request sees one whole input. */
async function readResponsesTurn(deps: ReadDeps, { endpoint, caller, body }: SentBody): Promise<ReadRequestOutcome> {
  const isAtEndpoint = endpoint === 'compact'
  const wrong = isAtEndpoint ? checkCompact(body) : undefined
  if (wrong) return refused(wrong)
  const refuse = () => missingModel(deps, caller, body)
  const expanded = await expandInput(deps, caller.accountId, body, { refuse })
  if (expanded.kind === 'refused') return expanded
  const opened = await openInput(deps.bounds, envelopesOf(deps.seals, caller.accountId), expanded)
  if (opened.kind === 'refused') return opened
  const { sealed, boundTo, hasTrigger } = opened
  return readResponsesRequest(opened.body, {
    ...{ sealed, boundTo, previousResponseId: expanded.previous, previousItems: expanded.previousItems },
    compacts: isAtEndpoint ? 'at-endpoint' : hasTrigger ? 'by-trigger' : undefined,
    // What the endpoint for compactions answers is no response.
    storable: deps.responses.keeps && !isAtEndpoint ? storableInput(expanded, hasTrigger) : undefined,
  })
}

/** Admission finds the model. Here it is looked for only where megabytes would be fetched for one that is not there. */
function missingModel({ catalog }: ReadDeps, caller: Caller, { value: { model } }: ParsedBody): Problem | undefined {
  const named = typeof model === 'string' ? findModel(catalog, caller, model) : undefined
  return named?.kind === 'refused' ? named.problem : undefined
}

/** What will not be stored, because it is too much, says so from its beginning. The trigger is no part of the conversation. */
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
  const message = 'A conversation is made short in one piece: `stream` is not possible at this endpoint. Leave it out.'
  return problem('unsupported_parameter', message, { param: 'stream' })
}
