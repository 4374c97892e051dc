import type { Lane } from '../catalog/catalog.ts'
import { Stopper, type StopSignal } from '../lib/stop-signal.ts'
import type { AccountRow } from '../model/ids.ts'
import type { Sink } from './turn.ts'

/** Why a turn was stopped from outside. */
export type StopReason = 'client-gone' | CutReason

/** Why the server ends running turns: it stops, or its books could not be written for too long. */
export type CutReason = 'draining' | 'ledger-gone'

/** Tells running turns that they have to end; returns how to stop listening. */
export type OnCut = (listener: (why: CutReason) => void) => () => void

/** What the going of its client means for a provider: it is cut, or it is read on without the client. */
type DrainPolicy = 'cut' | 'drain'

export interface CancellationServices {
  readonly onCut: OnCut
  readonly drains: Pick<Drains, 'begin'>
}

/**
 * What may come between a turn and its end: its client goes, or the server ends it. What that means for the provider is
 * known here and nowhere else, by the policy that it is to `follow` at the moment; what it means for the money,
 * `gateway/ending.ts` says.
 *
 *   the client     here ──answerIsWhole──▶ has-it-all ──goes──▶ gone-with-it
 *                   │ ◀──────follow─────────────┘ (another lane is asked)
 *                   └───goes───▶ gone-early
 *
 *   its provider   asked ──the client goes early: cut, or no place to drain──▶ stopped
 *                    ├─────the client goes early: drain──▶ drained ──its time is up, or its place is needed──▶ stopped
 *                    └─────the server ends it (from drained too)─────────────────────▶ stopped
 *
 * From the finish reason on a client has its answer, and going then changes nothing: the usage that is awaited has been
 * produced. The signal goes all the way down to the provider's socket. Who repeats a request with its idempotency key gets
 * an answer to its end, so such a turn does not listen for its client at all.
 */
export class Cancellation {
  readonly #provider = new Stopper()
  readonly #drains: Pick<Drains, 'begin'>
  readonly #account: AccountRow
  readonly #forgetClient: (() => void) | undefined
  readonly #forgetCut: () => void
  #client: 'here' | 'has-it-all' | 'gone-with-it' | 'gone-early' = 'here'
  #policy: DrainPolicy = 'cut'
  #endDrain: (() => void) | undefined
  #first: StopReason | undefined

  constructor(
    { onCut, drains }: CancellationServices,
    account: AccountRow,
    client: Pick<Sink, 'onDisconnect'> | undefined,
  ) {
    this.#drains = drains
    this.#account = account
    this.#forgetCut = onCut((why) => this.#cut(why))
    this.#forgetClient = client?.onDisconnect(() => this.#clientGoes())
  }

  /** Tells whoever works for the turn that its provider is stopped. */
  get signal(): StopSignal {
    return this.#provider
  }

  /** Why no lane is asked any more: the first that came, whether the provider was stopped for it or not. */
  get abortReason(): StopReason | undefined {
    return this.#first
  }

  /** Why the provider was stopped. For a client that went with the whole answer it was not: only the usage was awaited. */
  get stoppedFor(): StopReason | undefined {
    const hadItAll = this.#first === 'client-gone' && !this.disconnectedEarly
    return this.#provider.stopped && !hadItAll ? this.#first : undefined
  }

  /** The client went before its answer was whole. */
  get disconnectedEarly(): boolean {
    return this.#client === 'gone-early'
  }

  /** Of the lane that is asked from here on, until it is said anew: one that was asked before has not given the answer. */
  follow(policy: DrainPolicy): void {
    this.#policy = policy
    if (this.#client === 'has-it-all') this.#client = 'here'
  }

  /** The client has its finish reason. */
  answerIsWhole(): void {
    if (this.#client === 'here') this.#client = 'has-it-all'
  }

  /** The turn is over: it listens to nobody, and whatever is read on is over with it. */
  release(): void {
    this.#forgetClient?.()
    this.#forgetCut()
    this.#endDrain?.()
  }

  #clientGoes(): void {
    this.#first ??= 'client-gone'
    this.#client = this.#client === 'has-it-all' ? 'gone-with-it' : 'gone-early'
    if (this.#client === 'gone-with-it' || this.#provider.stopped) return
    if (this.#policy === 'drain') this.#endDrain = this.#drains.begin(this.#account, () => this.#provider.stop())
    if (this.#endDrain === undefined) this.#provider.stop()
  }

  #cut(why: CutReason): void {
    this.#first ??= why
    this.#provider.stop()
  }
}

/** A cancel is a cancel: only an operator who prefers exact to fast has answers read on. */
export const drainPolicyOf = ({ upstream }: Lane): DrainPolicy =>
  upstream.disconnectPolicy === 'drain' ? 'drain' : 'cut'

/** Answers that are read to their end without a client, to learn what they have cost. */
export interface Drains {
  readonly running: number
  /**
   * Returns how to say that it is over; undefined when there is no place for it. `stop` is called when its time is up, or
   * when its place goes to another account, if it is not over by then.
   */
  begin(account: AccountRow, stop: () => void): (() => void) | undefined
}

interface DrainBounds {
  readonly msMax: number
  readonly atOnceMax: number
}

/**
 * Most answers have ended within a minute; a provider may go on for as long as `timeouts.total`, and working that long for
 * nobody would cost more than an estimate is wrong. Each drain keeps a connection and a hold: were there no limit, whoever
 * asks and hangs up again and again would have as many of them as he likes.
 */
const DRAIN_BOUNDS: DrainBounds = { msMax: 60_000, atOnceMax: 100 }

const LOOK_EVERY_MS = 500

interface Drain {
  readonly stop: () => void
  readonly over: () => void
}

/**
 * Places are shared fairly: one account has at most half of them, and when all are taken, an account that has at least two
 * fewer than another takes the oldest of the one that has most. `nowMicros` are monotonic microseconds.
 */
export function createDrains(deps: { readonly nowMicros: () => number }, bounds = DRAIN_BOUNDS): Drains {
  const byAccount = new Map<AccountRow, Set<Drain>>()
  const perAccountMax = Math.ceil(bounds.atOnceMax / 2)
  let running = 0

  const hasPlace = (account: AccountRow): boolean => {
    const own = byAccount.get(account)?.size ?? 0
    if (own >= perAccountMax) return false
    if (running < bounds.atOnceMax) return true
    const most = mostOf(byAccount.values())
    if (most === undefined || most.size < own + 2) return false
    const [oldest] = most
    oldest?.over()
    oldest?.stop()
    return true
  }

  return {
    get running() {
      return running
    },
    begin(account, stop) {
      if (!hasPlace(account)) return undefined
      running++
      const drains = byAccount.get(account) ?? new Set()
      byAccount.set(account, drains)
      const until = deps.nowMicros() + bounds.msMax * 1000
      const timer = setInterval(() => {
        if (deps.nowMicros() < until) return
        over()
        stop()
      }, LOOK_EVERY_MS)
      const over = () => {
        if (!drains.delete(drain)) return
        if (drains.size === 0) byAccount.delete(account)
        running--
        clearInterval(timer)
      }
      const drain = { stop, over }
      drains.add(drain)
      return over
    },
  }
}

function mostOf(accounts: Iterable<ReadonlySet<Drain>>): ReadonlySet<Drain> | undefined {
  let most: ReadonlySet<Drain> | undefined
  for (const drains of accounts) if (most === undefined || drains.size > most.size) most = drains
  return most
}
