import type { Caller } from '../model/caller.ts'
import { problem } from '../model/problem.ts'
import type { Protocol } from '../model/turn.ts'
import { readRequest as readChatRequest } from '../wire/chat/read-request.ts'
import type { ParsedBody } from '../wire/parsed-body.ts'
import type { ReadRequestOutcome } from '../wire/read-request-outcome.ts'

/** What happens to a tool that only a provider could run: left out and named, or the request is refused. */
export type HostedTools = 'ignore' | 'reject'

/** A body, and in which protocol and by whom it was sent. */
export interface AskedTurn {
  readonly protocol: Protocol
  readonly caller: Caller
  readonly body: ParsedBody
}

/** The request that a body is. */
export function readTurn(deps: { readonly hostedTools: HostedTools }, asked: AskedTurn): ReadRequestOutcome {
  const read = readRequest(asked)
  const hosted = read.kind === 'turn' ? read.turn.ignoredTools[0] : undefined
  if (hosted === undefined || deps.hostedTools === 'ignore') return read
  const message = `A tool of type ${JSON.stringify(hosted.slice(0, SHOWN_MAX))} is declared, and this gateway does not accept tools that a provider runs. Leave it out.`
  return { kind: 'malformed', problem: problem('unsupported_tool', message, { param: 'tools' }) }
}

const SHOWN_MAX = 40

function readRequest({ protocol, body }: AskedTurn): ReadRequestOutcome {
  if (protocol !== 'chat') throw new Error('Responses cannot be read yet')
  return readChatRequest(body)
}
