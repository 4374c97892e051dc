import type { SettleOutcome } from '../ledger/ledger.ts'
import { assertNever } from '../lib/types.ts'
import type { Ending, SettledCharge } from '../model/ending.ts'
import type { NanoUsd } from '../model/money.ts'
import type { MeteredUsage } from '../model/price.ts'
import { internalError, type Problem, type ProblemCode, retryableProblem } from '../model/problem.ts'
import type { RunFate } from './attempt.ts'
import type { Resolution } from './ending.ts'
import { ledgerUnavailable } from './refusals.ts'
import type { Turn } from './turn.ts'

/**
 * Sends the end of an answer after the settle: the frames that say that it is complete leave only when its charge is durable
 * (R3). Returns the problem that was sent, if one was.
 */
export function deliverEnd(
  turn: Pick<Turn, 'sink' | 'encoder'>,
  finalFrames: FinalFrames,
  settled: SettleOutcome,
): Problem | undefined {
  const { fate, resolution } = finalFrames
  const { sink } = turn
  switch (fate.kind) {
    case 'finished':
      if (fate.disconnectedEarly) return undefined
      if (settled.kind === 'settled' && resolution.owed) {
        sink.end(finalFrames.encode(settled))
        return undefined
      }
      // The hold was resolved elsewhere, or the charge is not durable: nothing may look like a complete answer.
      if (sink.phase === 'quiet') return sendProblem(turn, ledgerUnavailable())
      sink.cut()
      return undefined
    case 'broken-off':
      sink.end(finalFrames.encode(undefined))
      return fate.problem
    case 'failed':
    case 'withheld':
      return sendProblem(turn, fate.problem)
    case 'stopped': {
      if (fate.reason === 'client-gone') return undefined
      const first = resolution.owed ? 'What was received is charged' : undefined
      const [code, message] = CUTS[fate.reason]
      return sendProblem(turn, retryableProblem(code, message, { first, retryAfterSeconds: 2 }))
    }
    default:
      return assertNever(fate)
  }
}

const CUTS = {
  draining: ['server_draining', 'Service unavailable: the server is stopping and could not finish this answer.'],
  'ledger-gone': ['ledger_unavailable', 'Service unavailable: the ledger could not be written for too long to go on.'],
} as const

/** As status and body before the head, afterwards as the protocol's error of a stream. */
function sendProblem({ sink, encoder }: Pick<Turn, 'sink' | 'encoder'>, problem: Problem): Problem {
  if (sink.phase === 'quiet') sink.refuse(problem)
  else if (sink.phase !== 'ended') sink.end(encoder.fail(problem))
  return problem
}

/** After our own fault a stream that has begun ends with an error; before the head, the caller of the turn answers. */
export function sendInternalError(turn: Turn): void {
  if (turn.sink.phase === 'head' || turn.sink.phase === 'body') sendProblem(turn, internalError(turn.requestId))
}

/** What was charged, or will be. */
type Charged = Pick<SettledCharge, 'charge' | 'tier'>

/** The last bytes of an answer. They are encoded once: a kept answer must be what its client was sent. */
export interface FinalFrames {
  readonly fate: RunFate
  readonly resolution: Resolution
  /** A complete answer states its charge; one that broke off does not. */
  encode(settled: Charged | undefined): Buffer
  /** The content changed before the frames were sent. */
  forget(): void
}

export function createFinalFrames(
  { encoder, price }: Pick<Turn, 'encoder' | 'price'>,
  fate: RunFate,
  resolution: Resolution,
): FinalFrames {
  let encoded: Buffer | undefined
  let charge: Charged['charge'] | undefined
  return {
    fate,
    resolution,
    encode(settled) {
      charge ??= settled?.charge
      if (charge !== settled?.charge) throw new Error('An answer states another charge than was settled')
      if (encoded !== undefined) return encoded
      if (fate.kind === 'broken-off') {
        encoded = encoder.fail(fate.problem)
        return encoded
      }
      if (fate.kind !== 'finished' || !settled || !resolution.owed)
        throw new Error(`An answer that is ${fate.kind} has no end`)
      const { unsent } = fate.answer
      const { usage } = resolution.owed
      const closing = fate.answer.close({ usage, charge: settled.charge, tier: settled.tier, price })
      encoded = unsent.length === 0 ? closing : Buffer.concat([unsent, closing])
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
  /** By how much an estimate would have missed the true charge, in proportion, where both are known. */
  readonly estimateError?: number | undefined
}
