import type { SettleOutcome } from '../../ledger/ledger.ts'
import { assertNever } from '../../lib/assert-never.ts'
import { internalError, type Problem, passingProblem } from '../../model/problem.ts'
import { ledgerUnavailable } from '../ledger-unavailable.ts'
import type { RunningTurn } from '../running-turn.ts'
import type { CutReason } from '../turn-stop.ts'
import type { LastWords } from './last-words.ts'
import type { Resolution } from './resolve-ending.ts'

/** To whom an end is said, and in which words. */
type Listener = Pick<RunningTurn, 'sink' | 'voice'>

/**
 * The last thing the client gets, after the money is resolved: what says that the answer is complete may only leave when
 * its charge is durable (R3). Returns the problem that was said, if one was.
 */
export function deliverEnd(turn: Listener, lastWords: LastWords, settled: SettleOutcome): Problem | undefined {
  const { fate, resolution } = lastWords
  switch (fate.kind) {
    case 'finished':
      return fate.unheard ? undefined : complete(turn, lastWords, settled)
    case 'broken-off':
      turn.sink.end(lastWords.say(undefined))
      return fate.problem
    case 'failed':
    case 'withheld':
      return say(turn, fate.problem)
    case 'stopped':
      return fate.reason === 'client-gone' ? undefined : say(turn, cutProblem(fate.reason, resolution))
    default:
      return assertNever(fate)
  }
}

function complete(turn: Listener, lastWords: LastWords, settled: SettleOutcome): Problem | undefined {
  if (settled.kind === 'settled' && lastWords.resolution.owed) {
    turn.sink.end(lastWords.say(settled))
    return undefined
  }
  // Somebody else has resolved this hold, or its charge is not durable: nothing that sounds like an end may be said.
  if (turn.sink.phase === 'quiet') return say(turn, ledgerUnavailable())
  turn.sink.cut()
  return undefined
}

/** A problem as status and body while nothing has gone out, else in the protocol's own words for a stream that failed. */
function say({ sink, voice }: Listener, said: Problem): Problem {
  if (sink.phase === 'quiet') sink.refuse(said)
  else if (sink.phase !== 'ended') sink.end(voice.fail(said))
  return said
}

function cutProblem(why: CutReason, { owed }: Resolution): Problem {
  const when = { first: owed ? 'What was received is charged' : undefined, retryAfterSeconds: 2 }
  return why === 'draining'
    ? passingProblem(
        'server_draining',
        'Service unavailable: the server is stopping and could not finish this answer.',
        when,
      )
    : passingProblem(
        'ledger_unavailable',
        'Service unavailable: the ledger could not be written for too long to go on.',
        when,
      )
}

/** Our own fault after the head has gone: the stream says so; before it, whoever catches the throw does. */
export function sayInternalError(turn: RunningTurn): void {
  if (turn.sink.phase !== 'head' && turn.sink.phase !== 'body') return
  say(turn, internalError(turn.requestId))
}
