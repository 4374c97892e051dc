import type { Lane, Upstream } from '../catalog/catalog.ts'
import type { AccountRow } from '../model/ids.ts'
import {
  CircuitBreaker,
  type CircuitBreakerDeps,
  type OpenCircuit,
  type OpenInterval,
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

const ALWAYS: LanePermit = { report() {}, release() {} }
const UNUSED: OpenInterval = { firstMs: 0, longestMs: 0 }

export function createLaneHealth(deps: HealthDeps): LaneHealth {
  // By object: an upstream whose credential or address was changed is another one, and begins with closed circuits.
  const providers = new WeakMap<Upstream, Provider>()
  const breakers = new WeakMap<Lane, Breakers>()
  const createBreaker = (whose: string): CircuitBreaker =>
    new CircuitBreaker({
      ...deps,
      failing: () => deps.failing() ?? UNUSED,
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
  const permit = (lane: Lane, by?: AccountRow, kind: 'permit' | 'probe' = 'permit'): LanePermit | undefined => {
    if (deps.failing() === undefined) return ALWAYS
    const { credential, lane: breaker } = breakers.get(lane) ?? openBreakers(lane)
    const credentialPermit = credential[kind](by)
    if (credentialPermit === undefined) return undefined
    const lanePermit = breaker[kind](by)
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
      release() {
        breaker.release(lanePermit)
        credential.release(credentialPermit)
      },
    }
  }
  return {
    permit,
    probe: (lane, by) => permit(lane, by, 'probe'),
    isAvailable(lane) {
      if (deps.failing() === undefined) return true
      const { credential, lane: breaker } = breakers.get(lane) ?? openBreakers(lane)
      return credential.isAvailable && breaker.isAvailable
    },
    openCircuitOf(lane) {
      if (deps.failing() === undefined) return undefined
      const { credential, lane: breaker } = breakers.get(lane) ?? openBreakers(lane)
      const [one, other] = [credential.openCircuit, breaker.openCircuit]
      // Both intervals have to be over before the lane is called.
      return one === undefined || (other !== undefined && other.until > one.until) ? other : one
    },
    shareOf(lane) {
      if (deps.failing() === undefined) return 1
      const { credential, lane: breaker } = breakers.get(lane) ?? openBreakers(lane)
      return Math.min(credential.share, breaker.share)
    },
  }
}
