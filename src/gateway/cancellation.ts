import type { DisconnectPolicy } from '../catalog/catalog.ts'
import type { StopSignal } from '../lib/async.ts'
import type { AccountRow } from '../model/ids.ts'
import type { Sink } from './turn-input.ts'

/** Why a turn was stopped from outside. Receipts record these words. */
export type AbortReason = 'client-gone' | ServerAbortReason

/** Why the server ends running turns: it shuts down, or the ledger could not be written for too long. */
export type ServerAbortReason = 'draining' | 'ledger-gone'

/** Registers a listener for the end of all running turns; returns how to stop listening. */
export type OnServerAbort = (listener: (why: ServerAbortReason) => void) => () => void

export interface CancellationServices {
  readonly onServerAbort: OnServerAbort
  readonly drains: Pick<Drains, 'begin'>
}

/**
 * What a client disconnect or a shutdown means for the provider of one turn. `server/sinks.ts` notices the disconnect, and
 * `gateway/ending.ts` decides what it costs: nothing until the provider has sent the head of a stream, or must have begun a JSON answer;
 * from then on what was produced, unless the upstream's `on_client_gone` is `cancel_free`.
 *
 *   provider   called ──disconnect: every policy but drain, or no place to drain──▶ stopped
 *                ├─────disconnect: drain──▶ reading on ──time is up, or another account needs the place──▶ stopped
 *                └─────shutdown (also while reading on)──▶ stopped
 *
 * After the finish reason the client has its answer, and a disconnect changes nothing: only the usage is still awaited. As a
 * signal it reaches down to the provider's socket. A request with an idempotency key runs to its end, so its turn does not listen
 * for a disconnect at all.
 */
export class Cancellation implements StopSignal {
  stopped: boolean
  onStop: (() => void) | undefined
  /** Why no further lane is called: the first reason, whether it stopped the provider or not. */
  abortReason: AbortReason | undefined
  /** The client disconnected before its answer was complete. */
  disconnectedEarly: boolean
  /** The client has its finish reason. */
  answerIsComplete: boolean
  /**
   * What a disconnect means for the call that runs. `callLane` sets it: `cancel` until the head of a stream has arrived, then the
   * policy of the upstream (`on_client_gone`); for a JSON answer that policy from the start. Only `drain` reads on, for an exact
   * charge; the default is `cancel_estimate`.
   */
  disconnectPolicy: DisconnectPolicy | 'cancel'
  readonly #drains: Pick<Drains, 'begin'>
  readonly #account: AccountRow
  readonly #stopListening: () => void
  #endDrain: (() => void) | undefined
  #endWait: (() => void) | undefined
  /** A disconnect or cancel that came when the answer seemed to be complete. */
  #withheld: (() => void) | undefined

  /** `client` is undefined for a turn that a disconnect does not stop. */
  constructor(
    { onServerAbort, drains }: CancellationServices,
    account: AccountRow,
    client: Pick<Sink, 'onDisconnect'> | undefined,
  ) {
    this.stopped = false
    this.disconnectedEarly = false
    this.answerIsComplete = false
    this.disconnectPolicy = 'cancel'
    this.#drains = drains
    this.#account = account
    this.#stopListening = onServerAbort((why) => this.abort(why))
    client?.onDisconnect(() => this.#onDisconnect())
  }

  /** Why the provider was stopped. A client that disconnected with the complete answer did not stop it. */
  get stoppedFor(): AbortReason | undefined {
    const hadCompleteAnswer = this.abortReason === 'client-gone' && !this.disconnectedEarly
    return this.stopped && !hadCompleteAnswer ? this.abortReason : undefined
  }

  abort(why: ServerAbortReason): void {
    this.abortReason ??= why
    this.stop()
  }

  /** The client has cancelled a turn in the background. It pays as after a disconnect. */
  cancel(): void {
    this.abortReason ??= 'client-gone'
    if (this.answerIsComplete) {
      this.#withheld = () => this.cancel()
      return
    }
    this.disconnectedEarly = true
    this.stop()
  }

  /** The finish reason was not the last one: a client that has left since then did not have the whole answer. */
  answerGoesOn(): void {
    this.answerIsComplete = false
    this.#withheld?.()
    this.#withheld = undefined
  }

  /** Waits for a client that reads slowly, but no longer than the turn goes on. */
  untilStopped(drained: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      this.#endWait = resolve
      if (this.stopped) resolve()
      else void drained.then(resolve, resolve)
    })
  }

  stop(): void {
    if (this.stopped) return
    this.stopped = true
    this.#endWait?.()
    this.onStop?.()
  }

  /** Called when the turn is over: ends the drain too. */
  release(): void {
    // A client that disconnects from now on begins no drain.
    this.disconnectPolicy = 'cancel'
    this.#stopListening()
    this.#endDrain?.()
  }

  #onDisconnect(): void {
    this.abortReason ??= 'client-gone'
    if (this.answerIsComplete) {
      this.#withheld ??= () => this.#onDisconnect()
      return
    }
    this.disconnectedEarly = true
    if (this.stopped) return
    if (this.disconnectPolicy === 'drain') this.#endDrain = this.#drains.begin(this.#account, () => this.stop())
    if (this.#endDrain === undefined) this.stop()
  }
}

/** Answers that are read to their end after a disconnect, to learn what they cost. */
export interface Drains {
  readonly running: number
  /**
   * Returns how to end the drain; undefined when there is no place for it. `stop` is called when its time is up, or when
   * another account needs its place.
   */
  begin(account: AccountRow, stop: () => void): (() => void) | undefined
}

interface DrainBounds {
  readonly msMax: number
  readonly atOnceMax: number
}

/**
 * Most answers end within a minute. Reading on for as long as `timeouts.total` would cost more than an estimate is wrong. Each
 * drain keeps a connection and a hold, so their number is bounded against clients that disconnect again and again.
 */
const DRAIN_BOUNDS: DrainBounds = { msMax: 60_000, atOnceMax: 100 }

const CHECK_INTERVAL_MS = 500

interface Drain {
  readonly stop: () => void
  readonly end: () => void
}

/**
 * Places are shared fairly: an account has at most half of them, and when all are taken, an account with at least two fewer
 * than another takes the oldest drain of the account that has most.
 */
export function createDrains(deps: { readonly nowMicros: () => number }, bounds = DRAIN_BOUNDS): Drains {
  const byAccount = new Map<AccountRow, Set<Drain>>()
  const perAccountMax = Math.ceil(bounds.atOnceMax / 2)
  let running = 0

  const hasPlace = (account: AccountRow): boolean => {
    const own = byAccount.get(account)?.size ?? 0
    if (own >= perAccountMax) return false
    if (running < bounds.atOnceMax) return true
    let most: ReadonlySet<Drain> | undefined
    for (const drains of byAccount.values()) if (most === undefined || drains.size > most.size) most = drains
    if (most === undefined || most.size < own + 2) return false
    const [oldest] = most
    oldest?.end()
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
        end()
        stop()
      }, CHECK_INTERVAL_MS)
      const end = () => {
        if (!drains.delete(drain)) return
        if (drains.size === 0) byAccount.delete(account)
        running--
        clearInterval(timer)
      }
      const drain = { stop, end }
      drains.add(drain)
      return end
    },
  }
}
