import type { SettleOutcome } from '../ledger/ledger.ts'
import { assertNever } from '../lib/assert-never.ts'
import type { Price } from '../model/price.ts'
import { type Problem, problem } from '../model/problem.ts'
import { failureFrame } from '../wire/chat/problem.ts'
import { closingBytes, type SettledCharge } from './closing.ts'
import type { Resolution } from './ending.ts'
import { ledgerUnavailable } from './refusals.ts'
import type { FinishedAnswer, RunFate } from './run.ts'
import type { CutReason } from './turn-abort.ts'
import type { TurnCall } from './turn-call.ts'

interface Settled {
  readonly resolution: Resolution
  readonly settled: SettleOutcome
  readonly price: Price
}

/**
 * The last thing the client gets, after the money is resolved: what says that the answer is complete may only leave when
 * its charge is durable (R3). Returns the problem that was said, if one was.
 */
export function deliverEnd(call: TurnCall, fate: RunFate, end: Settled): Problem | undefined {
  switch (fate.kind) {
    case 'finished':
      return complete(call, fate.answer, end)
    case 'broken-off':
    case 'failed':
      return say(call, fate.problem)
    case 'hold-lost':
      return say(call, ledgerUnavailable())
    case 'stopped':
      return fate.reason === 'client-gone' ? undefined : say(call, cutProblem(fate.reason, end.resolution))
    default:
      return assertNever(fate)
  }
}

/** How an answer will end that is charged and said to its end; undefined for one that is cut short by ourselves. */
export function endingBytes(call: TurnCall, fate: RunFate, settled: SettledCharge): Buffer | undefined {
  switch (fate.kind) {
    case 'finished':
      return closingBytes(call.turn, fate.answer, settled)
    case 'broken-off':
      return failureFrame(fate.problem, call.requestId)
    default:
      return undefined
  }
}

function complete(
  call: TurnCall,
  answer: FinishedAnswer,
  { resolution, settled, price }: Settled,
): Problem | undefined {
  if (settled.kind === 'settled' && resolution.kind === 'charge') {
    const tier = settled.tier
    call.sink.end(closingBytes(call.turn, answer, { usage: resolution.told, charge: settled.charge, tier, price }))
    return undefined
  }
  // Somebody else has resolved this hold, or its charge is not durable: nothing that sounds like an end may be said.
  if (call.sink.phase === 'quiet') return say(call, ledgerUnavailable())
  call.sink.cut()
  return undefined
}

/** A problem as status and body while nothing has gone out, else in the protocol's own words for a stream that failed. */
function say(call: TurnCall, said: Problem): Problem {
  const { sink } = call
  if (sink.phase === 'quiet') sink.refuse(said)
  else if (sink.phase !== 'ended') sink.end(failureFrame(said, call.requestId))
  return said
}

function cutProblem(why: CutReason, { kind }: Resolution): Problem {
  const owed = kind === 'free' ? 'Nothing was charged' : 'What was received is charged'
  const again = `${owed}; send the request again in 2s.`
  return why === 'draining'
    ? problem('server_draining', `The server is stopping and could not finish this answer. ${again}`, RETRY_SOON)
    : problem('ledger_unavailable', `The ledger could not be written for too long to go on. ${again}`, RETRY_SOON)
}

const RETRY_SOON = { retryAfterSeconds: 2 }

/** Our own fault after the head has gone: the stream says so; before it, whoever catches the throw does. */
export function sayInternalError({ sink, requestId }: TurnCall): void {
  if (sink.phase !== 'head' && sink.phase !== 'body') return
  const message = `Something went wrong on our side. Tell the operator this request id: ${requestId}`
  sink.end(failureFrame(problem('internal_error', message), requestId))
}
