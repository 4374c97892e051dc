import type { Lane, Upstream } from '../catalog/catalog.ts'
import { createSlidingCount, type SlidingCount } from '../lib/rate-limit.ts'
import type { AccountRow } from '../model/ids.ts'

/** The result of one call. `succeeded` may be followed by `failed`: an answer can break off after it began. */
export type Verdict =
  | { readonly kind: 'succeeded' }
  /** `forMs`: the provider's own Retry-After, if it sent one. */
  | { readonly kind: 'failed'; readonly forMs?: number | undefined }
  /** The provider limits requests (429). `forMs`: its Retry-After, if it sent one. */
  | { readonly kind: 'busy'; readonly forMs?: number | undefined }
  | { readonly kind: 'locked-out' }
  /** The response head has arrived, with any status. */
  | { readonly kind: 'responded' }
  /** The client gave up before the provider sent anything. */
  | { readonly kind: 'unresponsive' }

/** Permission for one call, for `CircuitBreaker.report` and `release`. */
export interface Permit {
  /** `trial`: of a half-open circuit. `probe`: while it is open. `other-account`: while it is open for another account only. */
  readonly kind: 'call' | 'trial' | 'probe' | 'other-account'
  /** The account that asked. */
  readonly account: unknown
  /** How often the circuit had opened before. */
  readonly round: number
  hasSucceeded: boolean
}

export interface OpenCircuit {
  readonly reason: OpenReason
  /** Monotonic microseconds. From then on the next caller becomes the trial. */
  readonly until: number
  /** The only account whose calls failed; the circuit stays closed for all others. */
  readonly onlyForAccount?: unknown
}

export interface CircuitBreakerDeps {
  readonly nowMicros: () => number
  readonly random: () => number
  /** How long the circuit stays open after failures. */
  readonly failing: () => OpenInterval
  readonly onChange: (circuit: OpenCircuit | undefined) => void
}

/** How many successful trials close the circuit after its interval; with 0 it closes by itself. */
const TRIALS: Readonly<Record<OpenReason, number>> = { failing: 3, busy: 0, overloaded: 0, 'locked-out': 1 }

/** So many calls in a row without a response open the circuit: a single client may just be impatient. */
const SILENCES_MAX = 5

/** While every lane of a model is open: so many probes within ten seconds at first, twice as many after each success. */
const PROBES_FIRST = 3
const PROBES_MAX = 64
const PROBES_MICROS = 10_000_000
/** A lane that limits requests is not probed: its Retry-After applies. */
const PROBED: ReadonlySet<OpenReason> = new Set(['failing', 'locked-out'])

/** A circuit that has just closed gets a tenth of its calls, then linearly more. */
const RETURN_MICROS = 30_000_000
const RETURN_SHARE = 0.1

type State =
  | { readonly kind: 'closed' }
  | { readonly kind: 'open'; readonly circuit: OpenCircuit }
  | {
      readonly kind: 'half-open'
      readonly circuit: OpenCircuit
      readonly left: number
      readonly trial: Permit | undefined
    }

/**
 * The circuit breaker of a lane or a credential. While it is open, calls fail over to other lanes; after its interval it is
 * half-open and admits one trial at a time:
 *
 *     closed ──▶ open ──▶ half-open ──▶ closed
 *                  ▲          │
 *                  └──────────┘
 */
export class CircuitBreaker {
  readonly #deps: CircuitBreakerDeps
  /** Calls and failures of the last half minute. */
  readonly #calls: SlidingCount
  readonly #failures: SlidingCount
  #failuresInARow = 0
  /** The only account whose calls have failed within that time; undefined if several have. */
  #failedBy: unknown
  /** How often the circuit has opened for each reason since the last success. */
  readonly #openedInARow: Record<OpenReason, number> = { failing: 0, busy: 0, overloaded: 0, 'locked-out': 0 }
  #state: State = { kind: 'closed' }
  #closedAt: number | undefined
  #silences = 0
  /** The account of all of them; undefined if there are several. */
  #silentBy: unknown
  /** How often it has opened: results of calls that began in an earlier round are stale. */
  #round = 0
  #probes = 0
  readonly #probed: SlidingCount
  #probesMost = PROBES_FIRST

  constructor(deps: CircuitBreakerDeps) {
    this.#deps = deps
    this.#calls = createSlidingCount(deps.nowMicros, CALLS_MICROS)
    this.#failures = createSlidingCount(deps.nowMicros, CALLS_MICROS)
    this.#probed = createSlidingCount(deps.nowMicros, PROBES_MICROS)
  }

  /** Undefined while the circuit is open. `account`: the account that asks. */
  permit(account?: unknown): Permit | undefined {
    const permit: Permit = { kind: 'call', account, round: this.#round, hasSucceeded: false }
    const state = this.#state
    if (state.kind === 'closed') return permit
    if (this.#isOpenForOthersOnly(account)) return { ...permit, kind: 'other-account' }
    if (!this.isAvailable) return undefined
    const { circuit } = state
    const left = state.kind === 'half-open' ? state.left : TRIALS[circuit.reason]
    if (left === 0) {
      this.#close(circuit.reason)
      return permit
    }
    const trial: Permit = { ...permit, kind: 'trial' }
    this.#state = { kind: 'half-open', circuit, left, trial }
    return trial
  }

  /**
   * A permit while the circuit is open, for a request without another lane to fall back to. Few get one at first, more after each
   * success. Undefined if too many probes are recent or still running, or if the lane limits requests.
   */
  probe(account?: unknown): Permit | undefined {
    const state = this.#state
    if (state.kind === 'closed') return this.permit(account)
    if (!PROBED.has(state.circuit.reason)) return undefined
    if (Math.max(this.#probes, this.#probed.total()) >= this.#probesMost) return undefined
    this.#probed.add()
    this.#probes++
    return { kind: 'probe', account, round: this.#round, hasSucceeded: false }
  }

  report(permit: Permit, verdict: Verdict): void {
    if (verdict.kind === 'succeeded') {
      if (permit.hasSucceeded) return
      permit.hasSucceeded = true
    }
    const { account, kind } = permit
    const state = this.#state
    if (permit.round !== this.#round) this.#onStaleResult(verdict)
    else if (kind === 'probe') this.#onProbeResult(verdict)
    else if (kind === 'other-account') this.#onResultOfOther(verdict, account)
    else if (state.kind === 'half-open' && (state.trial === permit || verdict.kind === 'failed'))
      this.#onTrialResult(state, verdict, account)
    else if (state.kind === 'closed') {
      switch (verdict.kind) {
        case 'succeeded': {
          this.#calls.add()
          this.#failuresInARow = 0
          const opened = this.#openedInARow
          opened.busy = 0
          opened.overloaded = 0
          // The open interval doubles while the circuit keeps opening, and resets after one longest interval of success.
          if (this.#closedAt !== undefined && this.#now - this.#closedAt >= this.#deps.failing().longestMs * 1000) {
            opened.failing = 0
            opened['locked-out'] = 0
            this.#closedAt = undefined
          }
          break
        }
        case 'failed':
          if (this.#isOneFailureTooMany(account)) this.#trip('failing', undefined, this.#failedBy)
          // A Retry-After counts for one failure; repeated failures open the circuit for longer.
          else if (verdict.forMs !== undefined) this.#trip('overloaded', verdict.forMs)
          break
        case 'busy':
          this.#trip('busy', verdict.forMs)
          break
        case 'locked-out':
          this.#trip('locked-out')
          break
        case 'responded':
          this.#silences = 0
          break
        case 'unresponsive':
          // Finds a hanging provider also where clients give up before its deadline.
          this.#silentBy = this.#silences === 0 || this.#silentBy === account ? account : undefined
          this.#silences++
          if (this.#silences >= SILENCES_MAX) this.#trip('failing', undefined, this.#silentBy)
      }
    }
  }

  /** Called once the call is over. A call that reported nothing, because its client was at fault, does not count. */
  release(permit: Permit): void {
    const state = this.#state
    if (permit.kind === 'probe') {
      if (permit.round === this.#round) this.#probes--
    } else if (state.kind === 'half-open' && state.trial === permit) {
      this.#state = { ...state, trial: undefined }
    }
  }

  #onProbeResult(verdict: Verdict): void {
    if (verdict.kind === 'succeeded') this.#onProbeSuccess()
    else if (verdict.kind === 'busy') this.#trip('busy', verdict.forMs)
    else if (verdict.kind !== 'responded') this.#probesMost = PROBES_FIRST
  }

  #onProbeSuccess(): void {
    this.#probesMost = Math.min(2 * this.#probesMost, PROBES_MAX)
    const state = this.#state
    if (state.kind === 'closed') return
    const { circuit } = state
    const [left, trial] = state.kind === 'half-open' ? [state.left, state.trial] : [TRIALS[circuit.reason], undefined]
    if (left <= 1) this.#close(circuit.reason)
    else this.#state = { kind: 'half-open', circuit, left: left - 1, trial }
  }

  /** The circuit is open for another account only. */
  #isOpenForOthersOnly(account: unknown): boolean {
    if (this.#state.kind === 'closed' || account === undefined) return false
    const { onlyForAccount } = this.#state.circuit
    return onlyForAccount !== undefined && onlyForAccount !== account
  }

  /** The result of a call while the circuit is open for another account only. */
  #onResultOfOther(verdict: Verdict, account: unknown): void {
    if (this.#state.kind === 'closed') {
      this.#onStaleResult(verdict)
      return
    }
    const { circuit } = this.#state
    if (verdict.kind === 'succeeded') this.#close(circuit.reason)
    else if (verdict.kind === 'busy') this.#trip('busy', verdict.forMs)
    else if (verdict.kind === 'locked-out') this.#trip('locked-out')
    // The failures are not that account's alone.
    else if ((verdict.kind === 'failed' || verdict.kind === 'unresponsive') && this.#isOpenForOthersOnly(account))
      this.#state = { ...this.#state, circuit: { reason: circuit.reason, until: circuit.until } }
  }

  /** Whether the next caller gets a permit: the circuit is closed, or its interval is over and no trial is running. */
  get isAvailable(): boolean {
    const state = this.#state
    if (state.kind === 'closed') return true
    return this.#now >= state.circuit.until && !(state.kind === 'half-open' && state.trial !== undefined)
  }

  /** Undefined while closed. A circuit that needs trials counts as open until they have succeeded. */
  get openCircuit(): OpenCircuit | undefined {
    if (this.#state.kind === 'closed') return undefined
    const { circuit } = this.#state
    return TRIALS[circuit.reason] === 0 && this.#now >= circuit.until ? undefined : circuit
  }

  /** The share of its calls that it gets: less than 1 for a while after it has closed. */
  get share(): number {
    const returning = this.#closedAt === undefined ? 1 : (this.#now - this.#closedAt) / RETURN_MICROS
    return Math.min(1, RETURN_SHARE + (1 - RETURN_SHARE) * returning)
  }

  get #now(): number {
    return this.#deps.nowMicros()
  }

  /** Decides when failures open the circuit: five in a row, or half of ten or more within half a minute. */
  #isOneFailureTooMany(account: unknown): boolean {
    this.#calls.add()
    this.#failuresInARow++
    this.#failedBy = this.#failures.total() === 0 || this.#failedBy === account ? account : undefined
    this.#failures.add()
    const calls = this.#calls.total()
    return (
      this.#failuresInARow >= FAILURES_IN_A_ROW_MAX ||
      (calls >= CALLS_MIN && this.#failures.total() >= calls * FAILED_SHARE_MAX)
    )
  }

  #forgetFailures(): void {
    this.#calls.clear()
    this.#failures.clear()
    this.#failuresInARow = 0
  }

  #onTrialResult({ circuit, left }: State & { kind: 'half-open' }, verdict: Verdict, account: unknown): void {
    if (verdict.kind === 'responded') return
    if (verdict.kind === 'failed' || verdict.kind === 'unresponsive')
      this.#trip('failing', undefined, account === circuit.onlyForAccount ? account : undefined)
    else if (verdict.kind === 'locked-out') this.#trip('locked-out')
    // A rate limit during a trial says nothing about the failures that opened the circuit, and applies to every account.
    else if (verdict.kind === 'busy') {
      if (circuit.onlyForAccount !== undefined) this.#forgetFailures()
      const reason = circuit.onlyForAccount === undefined ? circuit.reason : 'busy'
      this.#openFor(reason, this.#nextInterval('busy', verdict.forMs))
    } else if (left === 1) this.#close(circuit.reason)
    else this.#state = { kind: 'half-open', circuit, left: left - 1, trial: undefined }
  }

  /** Of a call from an earlier round only a rate limit still counts. */
  #onStaleResult(verdict: Verdict): void {
    if (verdict.kind !== 'busy') return
    if (this.#state.kind === 'closed') this.#trip('busy', verdict.forMs)
    else if (this.#state.kind === 'open')
      this.#state = { kind: 'open', circuit: longer(this.#state.circuit, verdict, this.#now) }
  }

  #trip(reason: OpenReason, retryAfterMs?: number, onlyForAccount?: unknown): void {
    this.#openFor(reason, this.#nextInterval(reason, retryAfterMs), onlyForAccount)
  }

  /** In microseconds. `retryAfterMs`: the provider's own Retry-After. */
  #nextInterval(reason: OpenReason, retryAfterMs: number | undefined): number {
    const { failing, random } = this.#deps
    const { firstMs, longestMs } = reason === 'failing' ? failing() : reason === 'locked-out' ? LOCKED_OUT : BUSY
    const ms = Math.min(firstMs * 2 ** this.#openedInARow[reason], longestMs) * (1 - JITTER * random())
    this.#openedInARow[reason]++
    // A Retry-After of less than a second does not relieve the provider: the backoff goes on growing.
    const isTooShort = retryAfterMs === undefined || retryAfterMs < BUSY.firstMs
    return Math.ceil(1000 * (isTooShort ? Math.max(retryAfterMs ?? 0, ms) : retryAfterMs))
  }

  #openFor(reason: OpenReason, micros: number, onlyForAccount?: unknown): void {
    const circuit = { reason, until: this.#now + micros, ...(onlyForAccount === undefined ? {} : { onlyForAccount }) }
    this.#probes = 0
    this.#probesMost = PROBES_FIRST
    this.#silences = 0
    this.#round++
    this.#state = { kind: 'open', circuit }
    this.#deps.onChange(circuit)
  }

  #close(reason: OpenReason): void {
    this.#state = { kind: 'closed' }
    this.#deps.onChange(undefined)
    if (TRIALS[reason] === 0) return
    this.#forgetFailures()
    this.#closedAt = this.#now
  }
}

const longer = (circuit: OpenCircuit, { forMs = 0 }: Verdict & { kind: 'busy' }, now: number): OpenCircuit =>
  TRIALS[circuit.reason] === 0 ? { ...circuit, until: Math.max(circuit.until, now + 1000 * forMs) } : circuit

/** Why the circuit of a lane or a credential is open. */
export type OpenReason = 'failing' | 'busy' | 'overloaded' | 'locked-out'

/** How long a circuit stays open: longer each time in a row. */
export interface OpenInterval {
  readonly firstMs: number
  readonly longestMs: number
}

/** After a 429 without a Retry-After of a second or more. */
const BUSY: OpenInterval = { firstMs: 1_000, longestMs: 30_000 }
const LOCKED_OUT: OpenInterval = { firstMs: 60_000, longestMs: 600_000 }
/** Nodes that saw the same outage must not all retry in the same moment. */
const JITTER = 0.2

const FAILURES_IN_A_ROW_MAX = 5
const CALLS_MIN = 10
const FAILED_SHARE_MAX = 0.5
const CALLS_MICROS = 30_000_000

/**
 * The circuit breakers of all lanes and credentials. A lane that fails, limits us or refuses our credential is skipped for a while,
 * so that clients do not wait for it. A refused credential opens the circuit of all lanes that use it. While every lane of a model
 * is open, a few requests at a time still probe a failing one, so that the model is not lost to all its clients.
 */
export interface LaneHealth {
  /** Permission for this account to call the lane now; undefined while its circuit is open or another request is its trial. */
  permit(lane: Lane, account?: AccountRow): LanePermit | undefined
  /** Permission to call an open lane when no other is left; undefined if too many probes are running already. */
  probe(lane: Lane, account?: AccountRow): LanePermit | undefined
  /** Whether the next caller gets a permit. */
  isAvailable(lane: Lane): boolean
  /** Undefined while its circuit is closed. */
  openCircuitOf(lane: Lane): OpenCircuit | undefined
  /** The share that it gets of the calls that its weight would give it. */
  shareOf(lane: Lane): number
}

export interface LanePermit {
  report(verdict: LaneVerdict): void
  /** Called when the call is over. Undefined with closed circuits: no other request waits for the result. */
  readonly release: (() => void) | undefined
}

/** `locked-out` says of what: of this lane, or of all that the credential is for. */
export type LaneVerdict = Exclude<Verdict, { kind: 'locked-out' }> | { kind: 'locked-out'; of: 'lane' | 'credential' }

interface HealthDeps extends Pick<CircuitBreakerDeps, 'nowMicros' | 'random'> {
  /** `openCircuit` undefined: circuit breaking is off. */
  readonly rules: { readonly current: { readonly routing: { readonly openCircuit: OpenInterval | undefined } } }
  /** `whose`: a lane by its id, or an upstream by its own. */
  readonly onChange: (whose: string, circuit: OpenCircuit | undefined) => void
}

/** The circuit breakers that one lane depends on. */
interface Breakers {
  readonly lane: CircuitBreaker
  readonly credential: CircuitBreaker
}

interface Provider {
  readonly credential: CircuitBreaker
  /** By the provider's name of the model: as many as the configuration names. */
  readonly lanes: Map<string, CircuitBreaker>
}

const ALWAYS: LanePermit = { report() {}, release: undefined }
const UNUSED: OpenInterval = { firstMs: 0, longestMs: 0 }

export function createLaneHealth(deps: HealthDeps): LaneHealth {
  // By object: an upstream whose credential or address was changed is another one, and begins with closed circuits.
  const providers = new WeakMap<Upstream, Provider>()
  const breakers = new WeakMap<Lane, Breakers>()
  const createBreaker = (whose: string): CircuitBreaker =>
    new CircuitBreaker({
      ...deps,
      failing: () => deps.rules.current.routing.openCircuit ?? UNUSED,
      onChange: (circuit) => deps.onChange(whose, circuit),
    })
  const openBreakers = (lane: Lane): Breakers => {
    const { upstream, model } = lane
    const provider = providers.get(upstream) ?? { credential: createBreaker(upstream.id), lanes: new Map() }
    providers.set(upstream, provider)
    const breaker = provider.lanes.get(model) ?? createBreaker(lane.id)
    provider.lanes.set(model, breaker)
    const both = { lane: breaker, credential: provider.credential }
    breakers.set(lane, both)
    return both
  }
  const permit = (lane: Lane, account?: AccountRow, kind: 'permit' | 'probe' = 'permit'): LanePermit | undefined => {
    if (deps.rules.current.routing.openCircuit === undefined) return ALWAYS
    const { credential, lane: breaker } = breakers.get(lane) ?? openBreakers(lane)
    const credentialPermit = credential[kind](account)
    if (credentialPermit === undefined) return undefined
    const lanePermit = breaker[kind](account)
    if (lanePermit === undefined) {
      credential.release(credentialPermit)
      return undefined
    }
    return {
      // The credential hears only what concerns it.
      report(verdict) {
        if (verdict.kind !== 'locked-out' || verdict.of === 'lane') breaker.report(lanePermit, verdict)
        else credential.report(credentialPermit, verdict)
        if (verdict.kind === 'succeeded') credential.report(credentialPermit, verdict)
      },
      release:
        lanePermit.kind === 'call' && credentialPermit.kind === 'call'
          ? undefined
          : () => {
              breaker.release(lanePermit)
              credential.release(credentialPermit)
            },
    }
  }
  return {
    permit,
    probe: (lane, account) => permit(lane, account, 'probe'),
    isAvailable(lane) {
      if (deps.rules.current.routing.openCircuit === undefined) return true
      const { credential, lane: breaker } = breakers.get(lane) ?? openBreakers(lane)
      return credential.isAvailable && breaker.isAvailable
    },
    openCircuitOf(lane) {
      if (deps.rules.current.routing.openCircuit === undefined) return undefined
      const { credential, lane: breaker } = breakers.get(lane) ?? openBreakers(lane)
      const [one, other] = [credential.openCircuit, breaker.openCircuit]
      // Both intervals have to be over before the lane is called.
      return one === undefined || (other !== undefined && other.until > one.until) ? other : one
    },
    shareOf(lane) {
      if (deps.rules.current.routing.openCircuit === undefined) return 1
      const { credential, lane: breaker } = breakers.get(lane) ?? openBreakers(lane)
      return Math.min(credential.share, breaker.share)
    },
  }
}
