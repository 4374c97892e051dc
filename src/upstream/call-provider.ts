import type { Upstream } from '../catalog/catalog.ts'
import type { StopSignal } from '../lib/stop-signal.ts'
import type { Delivery } from '../model/turn.ts'
import { refusalOfBaseUrl } from './guard-address.ts'
import type { OriginPools } from './origin-pools.ts'
import { createExchange } from './provider-exchange.ts'
import { headersFor, providerKindOf } from './provider-kinds.ts'
import type { UpstreamFailed, UpstreamOutcome } from './upstream-answer.ts'

export interface ProviderCall {
  readonly upstream: Upstream
  readonly body: Buffer
  readonly delivery: Delivery
  readonly signal: StopSignal
}

export type CallProvider = (call: ProviderCall) => Promise<UpstreamOutcome>

export interface ProviderDeps {
  readonly pools: Pick<OriginPools, 'poolOf'>
  /** Monotonic microseconds. */
  readonly ticks: () => number
  readonly userAgent: string
}

/** Asks a provider over the network. */
export function createProviderCaller(deps: ProviderDeps): CallProvider {
  const targets = new WeakMap<Upstream, Target | UpstreamFailed>()
  const targetOf = (upstream: Upstream) => {
    let target = targets.get(upstream)
    if (target === undefined) {
      target = createTarget(upstream, deps.userAgent)
      targets.set(upstream, target)
    }
    return target
  }
  return async ({ upstream, body, delivery, signal }) => {
    const target = targetOf(upstream)
    if (target.kind === 'failed') return target
    const opened = deps.pools.poolOf(upstream)
    const pool = opened instanceof Promise ? await opened : opened
    if (signal.stopped)
      return { kind: 'failed', reason: 'cancelled', message: `The call of ${upstream.id} was cancelled.` }
    const { id: upstreamId, timeouts } = upstream
    const exchange = createExchange(deps, { upstreamId, timeouts, delivery, signal })
    pool.dispatch({ path: target.path, method: 'POST', headers: target.headers[delivery], body }, exchange.handler)
    return exchange.outcome
  }
}

/** What is the same for every call of an upstream. */
interface Target {
  readonly kind: 'target'
  readonly path: string
  readonly headers: Readonly<Record<Delivery, string[]>>
}

function createTarget(upstream: Upstream, userAgent: string): Target | UpstreamFailed {
  const kind = providerKindOf(upstream)
  // The configuration refuses both: a wire that cannot be served yet, and one on the network without an address.
  if (kind === undefined || upstream.baseUrl === undefined)
    throw new Error(`Upstream ${upstream.id} cannot be called: the configuration should have refused it`)
  const url = new URL(upstream.baseUrl)
  const refusal = refusalOfBaseUrl(url, upstream)
  if (refusal !== undefined)
    return { kind: 'failed', reason: 'not-sent', message: `The base_url of ${upstream.id} ${refusal}.` }
  return {
    kind: 'target',
    path: url.pathname.replace(/\/+$/, '') + kind.path,
    headers: {
      json: headersFor(upstream, kind, { delivery: 'json', userAgent }),
      stream: headersFor(upstream, kind, { delivery: 'stream', userAgent }),
    },
  }
}
