import { createSlidingCount, type SlidingCount } from '../lib/sliding-count.ts'
import {
  type AsideReason,
  type AsideTimes,
  createFailureCount,
  createTimeAside,
  type FailureCount,
  type TimeAside,
} from './aside-rules.ts'

/** What one call tells of where it went. `well` may be followed by `failed`: an answer can break off after it began. */
export type Verdict =
  | { readonly kind: 'well' }
  /** Perhaps it says itself how long it will. */
  | { readonly kind: 'failed'; readonly forMs?: number | undefined }
  /** It limits requests, and perhaps says how long it wants to be left alone. */
  | { readonly kind: 'busy'; readonly forMs?: number | undefined }
  | { readonly kind: 'locked-out' }
  /** Its head has come, whatever that says. */
  | { readonly kind: 'heard' }
  /** Nothing has come for longer than its client wanted to wait. */
  | { readonly kind: 'silent' }

/** One call that is on its way. */
export interface Visit {
  tell(verdict: Verdict): void
  /** It is over. Who has told nothing, because it was the client's mistake, counts for nothing. */
  leave(): void
}

export interface Aside {
  readonly reason: AsideReason
  /** Monotonic microseconds; past: whoever comes tries it. */
  readonly until: number
  /** Only this account's calls have failed: all others may still ask. */
  readonly onlyFor?: unknown
}

export interface BreakerDeps {
  readonly ticks: () => number
  readonly random: () => number
  /** How long one stays aside that fails. */
  readonly failing: () => AsideTimes
  readonly onChange: (aside: Aside | undefined) => void
}

/** What brings one back when its time is over: so many good answers. None: time alone. */
const TRIES: Readonly<Record<AsideReason, number>> = { failing: 3, busy: 0, overloaded: 0, 'locked-out': 1 }

/** So many in a row that heard nothing: one client alone may be impatient. */
const SILENCES_MAX = 5

/** When every lane is put aside: so many probes within ten seconds at first, twice as many after each success. */
const PROBES_FIRST = 3
const PROBES_MAX = 64
const PROBES_MICROS = 10_000_000
/** Not a lane that limits requests: it has said how long to wait. */
const PROBED: ReadonlySet<AsideReason> = new Set(['failing', 'locked-out'])

/** Who comes back gets a tenth of its calls, and more from second to second. */
const RETURN_MICROS = 30_000_000
const RETURN_SHARE = 0.1

type State =
  | { readonly kind: 'in' }
  | { readonly kind: 'aside'; readonly aside: Aside }
  | { readonly kind: 'tried'; readonly aside: Aside; readonly left: number; readonly by: Visit | undefined }

/**
 * Whether a lane, or a credential, is asked. Put aside, it is left alone for a while and then tried by one call at a time:
 *
 *     in ──▶ aside ──▶ tried ──▶ in
 *              ▲         │
 *              └─────────┘
 */
export class Breaker {
  readonly #deps: BreakerDeps
  readonly #failures: FailureCount
  readonly #times: TimeAside
  #state: State = { kind: 'in' }
  #cameBackAt: number | undefined
  #silences = 0
  /** Whose they all are; undefined: those of several. */
  #silentBy: unknown
  /** How often it was put aside: what began before the last time tells nothing about now. */
  #round = 0
  #probes = 0
  readonly #probed: SlidingCount
  #probesMost = PROBES_FIRST

  constructor(deps: BreakerDeps) {
    this.#deps = deps
    this.#failures = createFailureCount(deps.ticks)
    this.#times = createTimeAside(deps)
    this.#probed = createSlidingCount(deps.ticks, PROBES_MICROS)
  }

  /** Undefined: it is left alone now. `by`: who asks. */
  visit(by?: unknown): Visit | undefined {
    if (this.#isOfOthers(by)) return this.#openForOther(by)
    if (!this.letsIn) return undefined
    const state = this.#state
    if (state.kind === 'in') return this.#open(by)
    const { aside } = state
    const left = state.kind === 'tried' ? state.left : TRIES[aside.reason]
    const visit = this.#open(by)
    if (left === 0) this.#comeBack(aside.reason)
    else this.#state = { kind: 'tried', aside, left, by: visit }
    return visit
  }

  /**
   * Permission to ask it although it is put aside, for a request that has no other lane. Few get it at first, more after each
   * success. Undefined: too many probes are recent or still running, or the lane itself has asked to be left alone.
   */
  probe(by?: unknown): Visit | undefined {
    const state = this.#state
    if (state.kind === 'in') return this.#open(by)
    if (!PROBED.has(state.aside.reason)) return undefined
    if (Math.max(this.#probes, this.#probed.total()) >= this.#probesMost) return undefined
    this.#probed.add()
    const round = this.#round
    let hasTold = false
    this.#probes++
    return {
      tell: (verdict) => {
        if (round !== this.#round) return this.#hearLate(verdict)
        if (verdict.kind === 'well' && !hasTold) this.#probeWentWell()
        else if (verdict.kind === 'busy') this.#putAside('busy', verdict.forMs)
        else if (verdict.kind !== 'well' && verdict.kind !== 'heard') this.#probesMost = PROBES_FIRST
        hasTold ||= verdict.kind === 'well'
      },
      leave: () => {
        if (round === this.#round) this.#probes--
      },
    }
  }

  #probeWentWell(): void {
    this.#probesMost = Math.min(2 * this.#probesMost, PROBES_MAX)
    const state = this.#state
    if (state.kind === 'in') return
    const left = (state.kind === 'tried' ? state.left : TRIES[state.aside.reason]) - 1
    if (left <= 0) this.#comeBack(state.aside.reason)
    else this.#state = { kind: 'tried', aside: state.aside, left, by: state.kind === 'tried' ? state.by : undefined }
  }

  /** It is put aside for the failures of one other account. */
  #isOfOthers(by: unknown): boolean {
    if (this.#state.kind === 'in' || by === undefined) return false
    const { onlyFor } = this.#state.aside
    return onlyFor !== undefined && onlyFor !== by
  }

  #openForOther(by: unknown): Visit {
    const round = this.#round
    return {
      tell: (verdict) => {
        if (round !== this.#round || this.#state.kind === 'in') return this.#hearLate(verdict)
        const { aside } = this.#state
        if (verdict.kind === 'well') this.#comeBack(aside.reason)
        else if (verdict.kind === 'busy') this.#putAside('busy', verdict.forMs)
        else if (verdict.kind === 'locked-out') this.#putAside('locked-out')
        // It fails for others, too.
        else if ((verdict.kind === 'failed' || verdict.kind === 'silent') && this.#isOfOthers(by))
          this.#state = { ...this.#state, aside: { reason: aside.reason, until: aside.until } }
      },
      leave() {},
    }
  }

  /** Whoever comes now may ask it: nothing is against it, or its time is over and nobody is trying it. */
  get letsIn(): boolean {
    const state = this.#state
    if (state.kind === 'in') return true
    return this.#now >= state.aside.until && !(state.kind === 'tried' && state.by !== undefined)
  }

  /** Undefined: nothing is against it. Where its time is over, it is tried before it counts as asked again. */
  get aside(): Aside | undefined {
    if (this.#state.kind === 'in') return undefined
    const { aside } = this.#state
    return TRIES[aside.reason] === 0 && this.#now >= aside.until ? undefined : aside
  }

  /** Of the calls that it would get: less than 1 while it comes back. */
  get share(): number {
    const returning = this.#cameBackAt === undefined ? 1 : (this.#now - this.#cameBackAt) / RETURN_MICROS
    return Math.min(1, RETURN_SHARE + (1 - RETURN_SHARE) * returning)
  }

  get #now(): number {
    return this.#deps.ticks()
  }

  #open(by: unknown): Visit {
    const openedIn = this.#round
    let wasWell = false
    const visit: Visit = {
      tell: (verdict) => {
        const again = wasWell && verdict.kind === 'well'
        wasWell ||= verdict.kind === 'well'
        if (again) return
        const state = this.#state
        if (openedIn !== this.#round) this.#hearLate(verdict)
        else if (state.kind === 'in') this.#hear(verdict, by)
        else if (state.kind === 'tried' && (state.by === visit || verdict.kind === 'failed'))
          this.#hearOnTrial(state, verdict, by)
      },
      leave: () => {
        const state = this.#state
        if (state.kind === 'tried' && state.by === visit) this.#state = { ...state, by: undefined }
      },
    }
    return visit
  }

  #hear(verdict: Verdict, by: unknown): void {
    if (verdict.kind === 'heard') this.#silences = 0
    else if (verdict.kind === 'silent') this.#hearNothing(by)
    else if (verdict.kind === 'busy') this.#putAside('busy', verdict.forMs)
    else if (verdict.kind === 'locked-out') this.#putAside('locked-out')
    else if (this.#failures.add(verdict.kind === 'failed', by))
      this.#putAside('failing', undefined, this.#failures.failedBy)
    else if (verdict.kind === 'well') this.#praise()
    // Its own word goes for the moment; failing again and again is more than that.
    else if (verdict.forMs !== undefined) this.#putAside('overloaded', verdict.forMs)
  }

  /** A provider that hangs is found out by those who wait for less than its deadline, too. */
  #hearNothing(by: unknown): void {
    this.#silentBy = this.#silences === 0 || this.#silentBy === by ? by : undefined
    this.#silences++
    if (this.#silences >= SILENCES_MAX) this.#putAside('failing', undefined, this.#silentBy)
  }

  #hearOnTrial({ aside, left }: State & { kind: 'tried' }, verdict: Verdict, by: unknown): void {
    if (verdict.kind === 'heard') return
    if (verdict.kind === 'failed' || verdict.kind === 'silent')
      this.#putAside('failing', undefined, by === aside.onlyFor ? by : undefined)
    else if (verdict.kind === 'locked-out') this.#putAside('locked-out')
    // Who is limited while it is tried has shown nothing of what it was put aside for; and limits are everybody's.
    else if (verdict.kind === 'busy')
      this.#leaveAlone(aside.onlyFor === undefined ? aside.reason : 'busy', this.#times.next('busy', verdict.forMs))
    else if (left === 1) this.#comeBack(aside.reason)
    else this.#state = { kind: 'tried', aside, left: left - 1, by: undefined }
  }

  /** Of calls from before only one thing holds now: that it wants to be left alone, or for longer. */
  #hearLate(verdict: Verdict): void {
    if (verdict.kind !== 'busy') return
    if (this.#state.kind === 'in') this.#hear(verdict, undefined)
    else if (this.#state.kind === 'aside')
      this.#state = { kind: 'aside', aside: longer(this.#state.aside, verdict, this.#now) }
  }

  #putAside(reason: AsideReason, toldMs?: number, onlyFor?: unknown): void {
    this.#leaveAlone(reason, this.#times.next(reason, toldMs), onlyFor)
  }

  #leaveAlone(reason: AsideReason, micros: number, onlyFor?: unknown): void {
    const aside = { reason, until: this.#now + micros, ...(onlyFor === undefined ? {} : { onlyFor }) }
    this.#probes = 0
    this.#probesMost = PROBES_FIRST
    this.#silences = 0
    this.#round++
    this.#state = { kind: 'aside', aside }
    this.#deps.onChange(aside)
  }

  #comeBack(reason: AsideReason): void {
    this.#state = { kind: 'in' }
    this.#deps.onChange(undefined)
    if (TRIES[reason] === 0) return
    this.#failures.clear()
    this.#cameBackAt = this.#now
  }

  /** Who flaps has its times grow; who was well for as long as it can be aside starts anew. */
  #praise(): void {
    this.#times.forgive('busy', 'overloaded')
    if (this.#cameBackAt === undefined || this.#now - this.#cameBackAt < this.#deps.failing().longestMs * 1000) return
    this.#times.forgive('failing', 'locked-out')
    this.#cameBackAt = undefined
  }
}

const longer = (aside: Aside, { forMs = 0 }: Verdict & { kind: 'busy' }, now: number): Aside =>
  TRIES[aside.reason] === 0 ? { ...aside, until: Math.max(aside.until, now + 1000 * forMs) } : aside
