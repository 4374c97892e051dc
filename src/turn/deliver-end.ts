import type { SettleOutcome } from '../ledger/ledger.ts'
import { assertNever } from '../lib/assert-never.ts'
import type { Price } from '../model/price.ts'
import { type Problem, problem } from '../model/problem.ts'
import type { Resolution } from './ending.ts'
import type { LastWords } from './last-words.ts'
import { ledgerUnavailable } from './refusals.ts'
import type { RunFate } from './run.ts'
import type { Sink } from './sink.ts'
import type { CutReason } from './turn-abort.ts'
import type { TurnVoice } from './turn-voice.ts'

/** To whom an end is said, and in which words. */
export interface Listener {
  readonly sink: Sink
  readonly voice: TurnVoice
}

interface Settled {
  readonly lastWords: LastWords
  readonly resolution: Resolution
  readonly settled: SettleOutcome
  readonly price: Price
}

/**
 * The last thing the client gets, after the money is resolved: what says that the answer is complete may only leave when
 * its charge is durable (R3). Returns the problem that was said, if one was.
 */
export function deliverEnd(to: Listener, fate: RunFate, end: Settled): Problem | undefined {
  switch (fate.kind) {
    case 'finished':
      return fate.unheard ? undefined : complete(to, end)
    case 'broken-off':
      to.sink.end(end.lastWords.ofBroken())
      return fate.problem
    case 'failed':
    case 'withheld':
      return say(to, fate.problem)
    case 'stopped':
      return fate.reason === 'client-gone' ? undefined : say(to, cutProblem(fate.reason, end.resolution))
    default:
      return assertNever(fate)
  }
}

function complete(to: Listener, { lastWords, resolution, settled, price }: Settled): Problem | undefined {
  if (settled.kind === 'settled' && resolution.kind === 'charge') {
    const { charge, tier } = settled
    to.sink.end(lastWords.ofWhole({ usage: resolution.told, charge, tier, price }))
    return undefined
  }
  // Somebody else has resolved this hold, or its charge is not durable: nothing that sounds like an end may be said.
  if (to.sink.phase === 'quiet') return say(to, ledgerUnavailable())
  to.sink.cut()
  return undefined
}

/** A problem as status and body while nothing has gone out, else in the protocol's own words for a stream that failed. */
function say({ sink, voice }: Listener, said: Problem): Problem {
  if (sink.phase === 'quiet') sink.refuse(said)
  else if (sink.phase !== 'ended') sink.end(voice.fail(said))
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
export function sayInternalError(to: Listener, requestId: string): void {
  if (to.sink.phase !== 'head' && to.sink.phase !== 'body') return
  const message = `Something went wrong on our side. Tell the operator this request id: ${requestId}`
  say(to, problem('internal_error', message))
}
