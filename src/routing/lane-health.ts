import type { Lane, Upstream } from '../catalog/catalog.ts'
import type { AccountRow } from '../model/ids.ts'
import type { AsideTimes } from './aside-rules.ts'
import { type Aside, Breaker, type BreakerDeps, type Verdict, type Visit } from './breaker.ts'

/**
 * Which lanes are asked: one that fails, limits us, or refuses our credential is put aside for a while, so that clients do
 * not wait for it. A lane stands for itself; a credential that is refused stands for all lanes that use it. Where every lane
 * of a model is put aside, a few requests at a time still probe one that fails, so that a model is not lost to all its clients.
 */
export interface LaneHealth {
  /** Permission for this account to ask it now; undefined: it is put aside, or another request is trying it. */
  visit(lane: Lane, by?: AccountRow): LaneVisit | undefined
  /** Permission to ask it although it is put aside, when no other lane is left; undefined: too many are doing so already. */
  probe(lane: Lane, by?: AccountRow): LaneVisit | undefined
  /** Whoever comes now may ask it. */
  isAsked(lane: Lane): boolean
  /** Undefined: nothing is against it. */
  asideOf(lane: Lane): Aside | undefined
  /** Of the calls that its weight would give it. */
  shareOf(lane: Lane): number
}

export interface LaneVisit {
  tell(verdict: LaneVerdict): void
  /** In any case, when the call is over. */
  leave(): void
}

/** `locked-out` says of what: of this lane, or of all that the credential is for. */
export type LaneVerdict = Exclude<Verdict, { kind: 'locked-out' }> | { kind: 'locked-out'; of: 'lane' | 'credential' }

export interface HealthDeps extends Pick<BreakerDeps, 'ticks' | 'random'> {
  /** Undefined: nothing is put aside. */
  readonly failing: () => AsideTimes | undefined
  /** `whose`: a lane by its id, or an upstream by its own. */
  readonly onChange: (whose: string, aside: Aside | undefined) => void
}

interface Provider {
  readonly credential: Breaker
  /** By the model's name there: as many as the configuration names. */
  readonly lanes: Map<string, Breaker>
}

const ASKED_ANYWAY: LaneVisit = { tell() {}, leave() {} }
const WELL: Verdict = { kind: 'well' }
const LOCKED_OUT: Verdict = { kind: 'locked-out' }
const UNUSED: AsideTimes = { firstMs: 0, longestMs: 0 }

export function createLaneHealth(deps: HealthDeps): LaneHealth {
  // By the object: an upstream whose credential or address was changed is another one, and begins anew.
  const providers = new WeakMap<Upstream, Provider>()
  const breakerFor = (whose: string): Breaker =>
    new Breaker({
      ...deps,
      failing: () => deps.failing() ?? UNUSED,
      onChange: (aside) => deps.onChange(whose, aside),
    })
  const providerOf = ({ upstream }: Lane): Provider => {
    const known = providers.get(upstream)
    if (known) return known
    const provider = { credential: breakerFor(upstream.id), lanes: new Map<string, Breaker>() }
    providers.set(upstream, provider)
    return provider
  }
  const laneOf = (provider: Provider, lane: Lane): Breaker => {
    const known = provider.lanes.get(lane.model)
    if (known) return known
    const breaker = breakerFor(lane.id)
    provider.lanes.set(lane.model, breaker)
    return breaker
  }
  const open = (lane: Lane, leaveOf: (breaker: Breaker) => Visit | undefined): LaneVisit | undefined => {
    if (deps.failing() === undefined) return ASKED_ANYWAY
    const provider = providerOf(lane)
    const credential = leaveOf(provider.credential)
    if (credential === undefined) return undefined
    const own = leaveOf(laneOf(provider, lane))
    if (own === undefined) credential.leave()
    return own && bothOf(own, credential)
  }
  return {
    visit: (lane, by) => open(lane, (breaker) => breaker.visit(by)),
    probe: (lane, by) => open(lane, (breaker) => breaker.probe(by)),
    isAsked(lane) {
      if (deps.failing() === undefined) return true
      const provider = providerOf(lane)
      return provider.credential.letsIn && laneOf(provider, lane).letsIn
    },
    asideOf(lane) {
      if (deps.failing() === undefined) return undefined
      const provider = providerOf(lane)
      return later(provider.credential.aside, laneOf(provider, lane).aside)
    },
    shareOf(lane) {
      if (deps.failing() === undefined) return 1
      const provider = providerOf(lane)
      return Math.min(provider.credential.share, laneOf(provider, lane).share)
    },
  }
}

/** Both have to be over before it is asked. */
const later = (one: Aside | undefined, other: Aside | undefined): Aside | undefined =>
  one === undefined || (other !== undefined && other.until > one.until) ? other : one

/** What a call says of its lane; of its credential only what concerns that. */
const bothOf = (lane: Visit, credential: Visit): LaneVisit => ({
  tell(verdict) {
    if (verdict.kind === 'locked-out') (verdict.of === 'lane' ? lane : credential).tell(LOCKED_OUT)
    else lane.tell(verdict)
    if (verdict.kind === 'well') credential.tell(WELL)
  },
  leave() {
    lane.leave()
    credential.leave()
  },
})
