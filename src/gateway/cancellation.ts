import type { Lane } from '../catalog/catalog.ts'
import { Stopper, type StopSignal } from '../lib/stop-signal.ts'
import type { AccountRow } from '../model/ids.ts'
import type { Drains } from './drains.ts'
import type { Sink } from './sink.ts'

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
