import { createFailureCount } from './failure-count.ts'
import { type AsideReason, type AsideTimes, createTimeAside } from './time-aside.ts'

/** What one call tells of where it went. `well` may be followed by `failed`: an answer can break off after it began. */
export type Verdict =
  | { readonly kind: 'well' }
  /** Perhaps it says itself how long it will. */
  | { readonly kind: 'failed'; readonly forMs?: number | undefined }
  /** It limits requests, and perhaps says how long it wants to be left alone. */
  | { readonly kind: 'busy'; readonly forMs?: number | undefined }
  | { readonly kind: 'locked-out' }

/** Whether a lane, or a credential, is asked. Put aside, it is left alone for a while and then tried by one call at a time. */
export interface Standing {
  /** Undefined: it is left alone now. */
  visit(): Visit | undefined
  readonly aside: Aside | undefined
  /** Of the calls that it would get: less than 1 while it comes back. */
  readonly share: number
}

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
}

export interface StandingDeps {
  readonly ticks: () => number
  readonly random: () => number
  /** How long one stays aside that fails. */
  readonly failing: () => AsideTimes
  readonly onChange: (aside: Aside | undefined) => void
}

/** What brings one back when its time is over: so many good answers. None: time alone. */
const TRIES: Readonly<Record<AsideReason, number>> = { failing: 3, busy: 0, overloaded: 0, 'locked-out': 1 }

/** Who comes back gets a tenth of its calls, and more from second to second. */
const RETURN_MICROS = 30_000_000
const RETURN_SHARE = 0.1

type State =
  | { readonly kind: 'in' }
  | { readonly kind: 'aside'; readonly aside: Aside }
  | { readonly kind: 'tried'; readonly aside: Aside; readonly left: number; readonly by: Visit | undefined }

export function createStanding(deps: StandingDeps): Standing {
  const { ticks, onChange } = deps
  const failures = createFailureCount(ticks)
  const times = createTimeAside(deps)
  let state: State = { kind: 'in' }
  let cameBackAt: number | undefined
  /** How often it was put aside: what began before the last time tells nothing about now. */
  let round = 0

  const leaveAlone = (reason: AsideReason, micros: number) => {
    const aside = { reason, until: ticks() + micros }
    round++
    state = { kind: 'aside', aside }
    onChange(aside)
  }
  const putAside = (reason: AsideReason, toldMs?: number) => leaveAlone(reason, times.next(reason, toldMs))
  const comeBack = (reason: AsideReason) => {
    state = { kind: 'in' }
    onChange(undefined)
    if (TRIES[reason] === 0) return
    failures.clear()
    cameBackAt = ticks()
  }
  /** Who flaps has its times grow; who was well for as long as it can be aside starts anew. */
  const praise = () => {
    times.forgive('busy', 'overloaded')
    if (cameBackAt === undefined || ticks() - cameBackAt < deps.failing().longestMs * 1000) return
    times.forgive('failing', 'locked-out')
    cameBackAt = undefined
  }
  const hear = (verdict: Verdict) => {
    if (verdict.kind === 'busy') return putAside('busy', verdict.forMs)
    if (verdict.kind === 'locked-out') return putAside('locked-out')
    if (failures.add(verdict.kind === 'failed')) putAside('failing')
    else if (verdict.kind === 'well') praise()
    // Its own word goes for the moment; failing again and again is more than that.
    else if (verdict.forMs !== undefined) putAside('overloaded', verdict.forMs)
  }
  const hearOnTrial = ({ aside, left }: State & { kind: 'tried' }, verdict: Verdict) => {
    if (verdict.kind === 'failed') putAside('failing')
    else if (verdict.kind === 'locked-out') putAside('locked-out')
    // Who is limited while it is tried has shown nothing of what it was put aside for.
    else if (verdict.kind === 'busy') leaveAlone(aside.reason, times.next('busy', verdict.forMs))
    else if (left === 1) comeBack(aside.reason)
    else state = { kind: 'tried', aside, left: left - 1, by: undefined }
  }

  /** Of calls from before only one thing holds now: that it wants to be left alone, or for longer. */
  const hearLate = (verdict: Verdict) => {
    if (verdict.kind !== 'busy') return
    if (state.kind === 'in') hear(verdict)
    else if (state.kind === 'aside') state = { kind: 'aside', aside: longer(state.aside, verdict, ticks()) }
  }

  const open = (): Visit => {
    const openedIn = round
    let wasWell = false
    const visit: Visit = {
      tell(verdict) {
        const again = wasWell && verdict.kind === 'well'
        wasWell ||= verdict.kind === 'well'
        if (again) return
        if (openedIn !== round) hearLate(verdict)
        else if (state.kind === 'in') hear(verdict)
        else if (state.kind === 'tried' && (state.by === visit || verdict.kind === 'failed'))
          hearOnTrial(state, verdict)
      },
      leave() {
        if (state.kind === 'tried' && state.by === visit) state = { ...state, by: undefined }
      },
    }
    return visit
  }

  return {
    visit() {
      if (state.kind === 'in') return open()
      const { aside } = state
      if (ticks() < aside.until || (state.kind === 'tried' && state.by !== undefined)) return undefined
      const left = state.kind === 'tried' ? state.left : TRIES[aside.reason]
      const visit = open()
      if (left === 0) comeBack(aside.reason)
      else state = { kind: 'tried', aside, left, by: visit }
      return visit
    },
    get aside() {
      if (state.kind === 'in') return undefined
      const isOver = TRIES[state.aside.reason] === 0 && ticks() >= state.aside.until
      return isOver ? undefined : state.aside
    },
    get share() {
      const returning = cameBackAt === undefined ? 1 : (ticks() - cameBackAt) / RETURN_MICROS
      return Math.min(1, RETURN_SHARE + (1 - RETURN_SHARE) * returning)
    },
  }
}

const longer = (aside: Aside, { forMs = 0 }: Verdict & { kind: 'busy' }, now: number): Aside =>
  TRIES[aside.reason] === 0 ? { ...aside, until: Math.max(aside.until, now + 1000 * forMs) } : aside
