import type { Catalog } from '../catalog/catalog.ts'
import { findModel } from '../catalog/resolve-model.ts'
import { RESPONSE_ITEMS_MAX } from '../content/stored-responses.ts'
import type { Caller } from '../model/caller.ts'
import { problem } from '../model/problem.ts'
import type { Protocol, TurnRequest } from '../model/turn.ts'
import { readRequest as readChatRequest } from '../wire/chat/read-request.ts'
import type { ParsedBody } from '../wire/parsed-body.ts'
import { malformed, type ReadRequestOutcome } from '../wire/read-request-outcome.ts'
import { readRequest as readResponsesRequest } from '../wire/responses/read-request.ts'
import { type ExpandDeps, expandInput } from './expand-input.ts'
import type { TurnCall } from './turn-call.ts'

/** What happens to a tool that only a provider could run: left out and named, or the request is refused. */
export type HostedTools = 'ignore' | 'reject'

/** A body, and in which protocol and by whom it was sent. */
export interface AskedTurn {
  readonly protocol: Protocol
  readonly caller: Caller
  readonly body: ParsedBody
}

export interface ReadDeps extends ExpandDeps {
  readonly catalog: Catalog
  readonly hostedTools: HostedTools
}

/** The request that a body is. */
export type ReadTurn =
  | ({ readonly kind: 'turn'; readonly turn: TurnRequest } & Pick<TurnCall, 'ownInput'>)
  | Extract<ReadRequestOutcome, { kind: 'malformed' }>

/** Reads the request, with all that it refers to by id in its place. */
export async function readTurn(deps: ReadDeps, asked: AskedTurn): Promise<ReadTurn> {
  const read = asked.protocol === 'chat' ? readChatRequest(asked.body) : await readWithReferences(deps, asked)
  const hosted = read.kind === 'turn' ? read.turn.ignoredTools[0] : undefined
  if (hosted === undefined || deps.hostedTools === 'ignore') return read
  const message = `A tool of type ${JSON.stringify(hosted.slice(0, SHOWN_MAX))} is declared, and this gateway does not accept tools that a provider runs. Leave it out.`
  return malformed(problem('unsupported_tool', message, { param: 'tools' }))
}

const SHOWN_MAX = 40

async function readWithReferences(deps: ReadDeps, { caller, body }: AskedTurn): Promise<ReadTurn> {
  const { model } = body.value
  const named = typeof model === 'string' ? findModel(deps.catalog, caller, model) : undefined
  const unavailable = named?.kind === 'refused' ? named.problem : undefined
  const expanded = await expandInput({ ...deps, unavailable }, caller.account, body)
  if (expanded.kind === 'refused') return malformed(expanded.problem)
  const read = readResponsesRequest(expanded.body)
  if (read.kind !== 'turn' || read.turn.protocol !== 'responses') return read
  // What will not be stored says so from its beginning.
  const isFew = read.turn.inputSize.messages < RESPONSE_ITEMS_MAX || expanded.ownInput().length < RESPONSE_ITEMS_MAX
  const store = read.turn.store && deps.responses.keeps && isFew
  const turn = { ...read.turn, store, previousResponseId: expanded.previous }
  return { kind: 'turn', turn, ownInput: expanded.ownInput }
}
