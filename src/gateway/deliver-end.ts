import type { Model } from '../catalog/catalog.ts'
import type { SettleOutcome } from '../ledger/ledger.ts'
import { assertNever } from '../lib/types.ts'
import type { Ending, SettledCharge } from '../model/ending.ts'
import type { NanoUsd } from '../model/money.ts'
import { internalError, type Problem, type ProblemCode, retryableProblem } from '../model/problem.ts'
import type { MeteredUsage } from '../model/usage.ts'
import { priceUsage } from '../pricing/price.ts'
import type { Produced, Run, RunFate } from './attempt.ts'
import type { CutReason } from './cancellation.ts'
import { type EndingBounds, estimateUsage, type Resolution } from './ending.ts'
import { ledgerUnavailable } from './refusals.ts'
import type { RunningTurn } from './turn.ts'

/** To whom an end is said, and in which words. */
type Listener = Pick<RunningTurn, 'sink' | 'encoder'>

/**
 * The last thing the client gets, after the money is resolved: what says that the answer is complete may only leave when
 * its charge is durable (R3). Returns the problem that was said, if one was.
 */
export function deliverEnd(turn: Listener, finalFrames: FinalFrames, settled: SettleOutcome): Problem | undefined {
  const { fate, resolution } = finalFrames
  switch (fate.kind) {
    case 'finished':
      return fate.unheard ? undefined : complete(turn, finalFrames, settled)
    case 'broken-off':
      turn.sink.end(finalFrames.say(undefined))
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

function complete(turn: Listener, finalFrames: FinalFrames, settled: SettleOutcome): Problem | undefined {
  if (settled.kind === 'settled' && finalFrames.resolution.owed) {
    turn.sink.end(finalFrames.say(settled))
    return undefined
  }
  // Somebody else has resolved this hold, or its charge is not durable: nothing that sounds like an end may be said.
  if (turn.sink.phase === 'quiet') return say(turn, ledgerUnavailable())
  turn.sink.cut()
  return undefined
}

/** A problem as status and body while nothing has gone out, else in the protocol's own words for a stream that failed. */
function say({ sink, encoder }: Listener, said: Problem): Problem {
  if (sink.phase === 'quiet') sink.refuse(said)
  else if (sink.phase !== 'ended') sink.end(encoder.fail(said))
  return said
}

function cutProblem(why: CutReason, { owed }: Resolution): Problem {
  const when = { first: owed ? 'What was received is charged' : undefined, retryAfterSeconds: 2 }
  return why === 'draining'
    ? retryableProblem(
        'server_draining',
        'Service unavailable: the server is stopping and could not finish this answer.',
        when,
      )
    : retryableProblem(
        'ledger_unavailable',
        'Service unavailable: the ledger could not be written for too long to go on.',
        when,
      )
}

/** Our own fault after the head has gone: the stream says so; before it, whoever catches the throw does. */
export function sendInternalError(turn: RunningTurn): void {
  if (turn.sink.phase !== 'head' && turn.sink.phase !== 'body') return
  say(turn, internalError(turn.requestId))
}

/** What was charged, or will be. */
type Charged = Pick<SettledCharge, 'charge' | 'tier'>

/**
 * The last bytes of an answer. They are worked out once: what is kept of an answer before it is charged must be what its
 * client is sent afterwards.
 */
export class FinalFrames {
  readonly #turn: Pick<RunningTurn, 'encoder' | 'price'>
  readonly fate: RunFate
  readonly resolution: Resolution
  #said: Buffer | undefined
  #told: Charged['charge'] | undefined

  constructor(turn: Pick<RunningTurn, 'encoder' | 'price'>, fate: RunFate, resolution: Resolution) {
    this.#turn = turn
    this.fate = fate
    this.resolution = resolution
  }

  /** An answer that is whole tells what was charged for it; one that broke off tells no charge. */
  say(settled: Charged | undefined): Buffer {
    this.#told ??= settled?.charge
    if (this.#told !== settled?.charge) throw new Error('An answer was charged otherwise than it says')
    this.#said ??= this.#workOut(settled)
    return this.#said
  }

  /** What they tell has changed before anybody heard them. */
  forget(): void {
    this.#said = undefined
  }

  #workOut(settled: Charged | undefined): Buffer {
    const { fate, resolution } = this
    const { encoder, price } = this.#turn
    if (fate.kind === 'broken-off') return encoder.fail(fate.problem)
    if (fate.kind !== 'finished' || !settled || !resolution.owed)
      throw new Error(`An answer that is ${fate.kind} has no end`)
    const { unsent, close } = fate.answer
    const closing = close({ usage: resolution.owed.usage, charge: settled.charge, tier: settled.tier, price })
    return unsent.length === 0 ? closing : Buffer.concat([unsent, closing])
  }
}

/**
 * A whole answer with true usage shows what an estimate of it would have been worth, and what the next ones shall rest on.
 * Returns how far the estimated charge would have been from the true one, in proportion; undefined where there is nothing to
 * compare.
 */
export function learnFromTurn(
  { request }: RunningTurn,
  { fate }: Run,
  { owed }: Resolution,
  bounds: EndingBounds,
): number | undefined {
  if (fate.kind !== 'finished' || owed === undefined || owed.usage.estimated) return undefined
  const error = errorOf(fate.used, Number(owed.cost), bounds)
  // The data of pictures and files says nothing of how many tokens words are.
  const inputTaken = request.otherInputs.length === 0 ? bounds.inputEstimate : 0
  bounds.rate.learn(fate.used, owed.usage, { bytesPerToken: bounds.bytesPerToken, inputTaken })
  return error
}

function errorOf(used: Produced, trueCost: number, bounds: EndingBounds): number | undefined {
  if (trueCost === 0) return undefined
  // While an answer in one piece is being made, nothing is seen of its words.
  const isWhole = used.wholeMs !== undefined
  const seen = { ...used, usage: undefined, ...(isWhole ? { outputBytes: 0, calls: 0 } : {}) }
  const estimate = estimateUsage(seen, bounds)
  if (isWhole && estimate.output === 0) return undefined
  return Number(priceUsage(bounds.price, estimate).cost) / trueCost - 1
}

/** What one turn leaves for the log line and the metrics, side by side as both name it. No contents. */
export interface TurnRecord extends Partial<Pick<Ending, 'lane' | 'attempts' | 'compaction' | 'firstByteMs'>> {
  readonly model: string | undefined
  readonly outcome: Ending['outcome'] | 'refused'
  readonly problem: ProblemCode | undefined
  readonly usage?: MeteredUsage | undefined
  readonly charge?: NanoUsd | undefined
  readonly shortfall?: NanoUsd | undefined
  readonly totalMs: number
  /** How far an estimate would have been from the true charge, in proportion, where both are known. */
  readonly estimateError?: number | undefined
}

interface Ended {
  readonly settled: SettleOutcome
  readonly said: Problem | undefined
  readonly estimateError: number | undefined
}

/** Of a turn that was admitted. */
export const recordOf = (
  model: Model,
  { outcome, owed, lane, attempts, compaction, firstByteMs, totalMs }: Ending,
  { settled, said, estimateError }: Ended,
): TurnRecord => ({
  model: model.id,
  lane,
  attempts,
  outcome,
  problem: said?.code,
  usage: owed?.usage,
  compaction,
  charge: settled.kind === 'settled' ? settled.charge : undefined,
  shortfall: settled.kind === 'settled' ? settled.shortfall : undefined,
  firstByteMs,
  totalMs,
  estimateError,
})

/** Of one that was not. */
export const recordOfRefused = (model: Model | undefined, said: Problem, totalMs: number): TurnRecord => ({
  model: model?.id,
  outcome: 'refused',
  problem: said.code,
  totalMs,
})
