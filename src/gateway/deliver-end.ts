import type { SettleOutcome } from '../ledger/ledger.ts'
import { assertNever } from '../lib/types.ts'
import type { Ending, Owed, SettledCharge } from '../model/ending.ts'
import type { NanoUsd } from '../model/money.ts'
import type { MeteredUsage } from '../model/price.ts'
import { internalError, type Problem, type ProblemCode, problem, retryableProblem } from '../model/problem.ts'
import type { LaneWork } from '../telemetry/metrics.ts'
import type { AttemptResult } from './attempt.ts'
import type { EstimateMisses } from './ending.ts'
import { ledgerUnavailable } from './refusals.ts'
import type { Turn } from './turn.ts'

/** How an answer ends for its client. */
interface AnswerEnd {
  readonly result: AttemptResult
  readonly owed: Owed | undefined
  /** Set where the answer is kept. */
  readonly keptFrames: KeptFrames | undefined
}

/**
 * Sends the end of an answer after the settle: the frames that say that it is complete leave only when its charge is durable
 * (R3). Returns the problem that was sent, if one was.
 */
export function deliverEnd(
  turn: Pick<Turn, 'sink' | 'encoder' | 'price'>,
  { result, owed, keptFrames }: AnswerEnd,
  settled: SettleOutcome,
): Problem | undefined {
  const { sink } = turn
  switch (result.kind) {
    case 'finished':
      if (result.disconnectedEarly) return endCancelled(turn)
      if (settled.kind === 'settled' && owed) {
        sink.end(keptFrames ? keptFrames.encode(settled) : encodeEnd(turn, result, owed, settled))
        return undefined
      }
      // The hold was resolved elsewhere, or the charge is not durable: nothing may look like a complete answer.
      if (sink.phase === 'quiet') return deliverProblem(turn, ledgerUnavailable())
      sink.destroy()
      return undefined
    case 'broken-off':
      sink.end(keptFrames ? keptFrames.encode(undefined) : encodeEnd(turn, result, owed, undefined))
      return result.problem
    case 'failed':
    case 'withheld':
      return deliverProblem(turn, result.problem)
    case 'stopped': {
      if (result.reason === 'client-gone') return endCancelled(turn)
      const first = owed ? 'The input and the output so far are charged' : undefined
      const [code, message] = ABORT_PROBLEMS[result.reason]
      return deliverProblem(turn, retryableProblem(code, message, { first, retryAfterSeconds: 2 }))
    }
    default:
      return assertNever(result)
  }
}

/** The client has disconnected, or has cancelled the turn and may still read its stream. */
function endCancelled(turn: Pick<Turn, 'sink' | 'encoder'>): undefined {
  const message = 'The response was cancelled. What was produced until then is charged.'
  if (!turn.sink.disconnected && turn.sink.phase !== 'quiet')
    deliverProblem(turn, problem('response_cancelled', message))
}

const ABORT_PROBLEMS = {
  draining: ['server_draining', 'Service unavailable: the server is stopping and could not finish this answer.'],
  'ledger-gone': [
    'ledger_unavailable',
    'Service unavailable: the ledger could not be written, so the server ended this answer.',
  ],
} as const

/** As status and body before the head, afterwards as the protocol's error of a stream. */
function deliverProblem({ sink, encoder }: Pick<Turn, 'sink' | 'encoder'>, problem: Problem): Problem {
  if (sink.phase === 'quiet') sink.refuse(problem)
  else if (sink.phase !== 'ended') sink.end(encoder.fail(problem))
  return problem
}

/** After our own fault a stream that has begun ends with an error; before the head, the caller of the turn answers. */
export function sendInternalError(turn: Turn): void {
  if (turn.sink.phase === 'head' || turn.sink.phase === 'body') deliverProblem(turn, internalError(turn.requestId))
}

/** What was charged, or will be. */
type StatedCharge = Pick<SettledCharge, 'charge' | 'tier'>

/** The last bytes of an answer. A complete one states its charge; one that broke off does not. */
function encodeEnd(
  { encoder, price }: Pick<Turn, 'encoder' | 'price'>,
  result: AttemptResult,
  owed: Owed | undefined,
  settled: StatedCharge | undefined,
): Buffer {
  if (result.kind === 'broken-off') return encoder.fail(result.problem)
  if (result.kind !== 'finished' || !settled || !owed) throw new Error(`An answer that is ${result.kind} has no end`)
  const { unsent } = result.answer
  const { usage, values } = owed
  const closing = result.answer.close({ usage, charge: settled.charge, tier: settled.tier, price, values })
  return unsent.length === 0 ? closing : Buffer.concat([unsent, closing])
}

/** The last bytes of an answer that is kept. They are encoded once: a kept answer must be what its client was sent. */
export interface KeptFrames {
  encode(settled: StatedCharge | undefined): Buffer
  /** The content changed before the frames were sent. */
  forget(): void
}

export function createKeptFrames(
  turn: Pick<Turn, 'encoder' | 'price'>,
  result: AttemptResult,
  owed: Owed | undefined,
): KeptFrames {
  let encoded: Buffer | undefined
  let charge: StatedCharge['charge'] | undefined
  return {
    encode(settled) {
      charge ??= settled?.charge
      if (charge !== settled?.charge) throw new Error('An answer states another charge than was settled')
      encoded ??= encodeEnd(turn, result, owed, settled)
      return encoded
    },
    forget() {
      encoded = undefined
    },
  }
}

/** What one turn reports to the log line and the metrics, in their names. No contents. */
export interface TurnRecord extends Partial<Pick<Ending, 'lane' | 'attempts' | 'compaction' | 'firstByteMs'>> {
  readonly model: string | undefined
  readonly outcome: Ending['outcome'] | 'refused'
  readonly problem: ProblemCode | undefined
  readonly usage?: MeteredUsage | undefined
  readonly charge?: NanoUsd | undefined
  readonly shortfall?: NanoUsd | undefined
  readonly totalMs: number
  readonly estimateError?: EstimateMisses['estimateError']
  readonly inputEstimateError?: EstimateMisses['inputEstimateError']
  readonly laneWork?: LaneWork | undefined
}
