import type { Lane, Upstream } from '../catalog/catalog.ts'
import type { AccountRow } from '../model/ids.ts'
import {
  CircuitBreaker,
  type CircuitBreakerDeps,
  type OpenCircuit,
  type OpenInterval,
  type Permit,
  type Verdict,
} from './circuit-breaker.ts'

/**
 * The circuit breakers of all lanes and credentials. A lane that fails, limits us or refuses our credential is skipped for a while,
 * so that clients do not wait for it. A refused credential opens the circuit of all lanes that use it. While every lane of a model
 * is open, a few requests at a time still probe a failing one, so that the model is not lost to all its clients.
 */
export interface LaneHealth {
  /** Permission for this account to call the lane now; undefined while its circuit is open or another request is its trial. */
  permit(lane: Lane, by?: AccountRow): LanePermit | undefined
  /** Permission to call an open lane when no other is left; undefined if too many probes are running already. */
  probe(lane: Lane, by?: AccountRow): LanePermit | undefined
  /** Whether the next caller gets a permit. */
  isAvailable(lane: Lane): boolean
  /** Undefined while its circuit is closed. */
  openCircuitOf(lane: Lane): OpenCircuit | undefined
  /** The share that it gets of the calls that its weight would give it. */
  shareOf(lane: Lane): number
}

export interface LanePermit {
  report(verdict: LaneVerdict): void
  /** Always called when the call is over. */
  release(): void
}

/** `locked-out` says of what: of this lane, or of all that the credential is for. */
export type LaneVerdict = Exclude<Verdict, { kind: 'locked-out' }> | { kind: 'locked-out'; of: 'lane' | 'credential' }

interface HealthDeps extends Pick<CircuitBreakerDeps, 'nowMicros' | 'random'> {
  /** Undefined: circuit breaking is off. */
  readonly failing: () => OpenInterval | undefined
  /** `whose`: a lane by its id, or an upstream by its own. */
  readonly onChange: (whose: string, circuit: OpenCircuit | undefined) => void
}

interface Provider {
  readonly credential: CircuitBreaker
  /** By the model's name there: as many as the configuration names. */
  readonly lanes: Map<string, CircuitBreaker>
}

const ALWAYS: LanePermit = { report() {}, release() {} }
const WELL: Verdict = { kind: 'succeeded' }
const LOCKED_OUT: Verdict = { kind: 'locked-out' }
const UNUSED: OpenInterval = { firstMs: 0, longestMs: 0 }

export function createLaneHealth(deps: HealthDeps): LaneHealth {
  // By the object: an upstream whose credential or address was changed is another one, and begins anew.
  const providers = new WeakMap<Upstream, Provider>()
  const breakerFor = (whose: string): CircuitBreaker =>
    new CircuitBreaker({
      ...deps,
      failing: () => deps.failing() ?? UNUSED,
      onChange: (circuit) => deps.onChange(whose, circuit),
    })
  const providerOf = ({ upstream }: Lane): Provider => {
    const known = providers.get(upstream)
    if (known) return known
    const provider = { credential: breakerFor(upstream.id), lanes: new Map<string, CircuitBreaker>() }
    providers.set(upstream, provider)
    return provider
  }
  const laneOf = (provider: Provider, lane: Lane): CircuitBreaker => {
    const known = provider.lanes.get(lane.model)
    if (known) return known
    const breaker = breakerFor(lane.id)
    provider.lanes.set(lane.model, breaker)
    return breaker
  }
  const open = (lane: Lane, permitOf: (breaker: CircuitBreaker) => Permit | undefined): LanePermit | undefined => {
    if (deps.failing() === undefined) return ALWAYS
    const provider = providerOf(lane)
    const credential = permitOf(provider.credential)
    if (credential === undefined) return undefined
    const own = permitOf(laneOf(provider, lane))
    if (own === undefined) credential.release()
    return own && bothOf(own, credential)
  }
  return {
    permit: (lane, by) => open(lane, (breaker) => breaker.permit(by)),
    probe: (lane, by) => open(lane, (breaker) => breaker.probe(by)),
    isAvailable(lane) {
      if (deps.failing() === undefined) return true
      const provider = providerOf(lane)
      return provider.credential.isAvailable && laneOf(provider, lane).isAvailable
    },
    openCircuitOf(lane) {
      if (deps.failing() === undefined) return undefined
      const provider = providerOf(lane)
      return later(provider.credential.openCircuit, laneOf(provider, lane).openCircuit)
    },
    shareOf(lane) {
      if (deps.failing() === undefined) return 1
      const provider = providerOf(lane)
      return Math.min(provider.credential.share, laneOf(provider, lane).share)
    },
  }
}

/** Both intervals have to be over before the lane is called. */
const later = (one: OpenCircuit | undefined, other: OpenCircuit | undefined): OpenCircuit | undefined =>
  one === undefined || (other !== undefined && other.until > one.until) ? other : one

/** Reports a call to its lane, and to its credential only what concerns that. */
const bothOf = (lane: Permit, credential: Permit): LanePermit => ({
  report(verdict) {
    if (verdict.kind === 'locked-out') (verdict.of === 'lane' ? lane : credential).report(LOCKED_OUT)
    else lane.report(verdict)
    if (verdict.kind === 'succeeded') credential.report(WELL)
  },
  release() {
    lane.release()
    credential.release()
  },
})
