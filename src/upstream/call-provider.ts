import type { Upstream } from '../catalog/catalog.ts'
import type { StopSignal } from '../lib/stop-signal.ts'
import type { Delivery } from '../model/turn.ts'
import { refusalOfBaseUrl } from './guard-address.ts'
import type { OriginPools } from './origin-pools.ts'
import { createExchange } from './provider-exchange.ts'
import { headersFor, pathBehind, providerKindOf } from './provider-kinds.ts'
import type { UpstreamFailed, UpstreamOutcome } from './upstream-answer.ts'

export interface ProviderCall {
  readonly upstream: Upstream
  /** As the provider calls it: some have it in the path. */
  readonly model: string
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
  return async ({ upstream, model, body, delivery, signal }) => {
    const target = targetOf(upstream)
    if (target.kind === 'failed') return target
    const opened = deps.pools.poolOf(upstream)
    const pool = opened instanceof Promise ? await opened : opened
    if (signal.stopped)
      return { kind: 'failed', reason: 'cancelled', message: `The call of ${upstream.id} was cancelled.` }
    const { id: upstreamId, timeouts } = upstream
    const exchange = createExchange(deps, { upstreamId, timeouts, delivery, signal })
    pool.dispatch(
      { path: target.pathOf(model, delivery), method: 'POST', headers: target.headers[delivery], body },
      exchange.handler,
    )
    return exchange.outcome
  }
}

/** What is the same for every call of an upstream. */
interface Target {
  readonly kind: 'target'
  readonly pathOf: (model: string, delivery: Delivery) => string
  readonly headers: Readonly<Record<Delivery, string[]>>
}

function createTarget(upstream: Upstream, userAgent: string): Target | UpstreamFailed {
  const kind = providerKindOf(upstream)
  // The configuration refuses both: a wire without a network, and one on the network without an address.
  if (kind === undefined || upstream.baseUrl === undefined)
    throw new Error(`Upstream ${upstream.id} cannot be called: the configuration should have refused it`)
  const url = new URL(upstream.baseUrl)
  const refusal = refusalOfBaseUrl(url, upstream)
  if (refusal !== undefined)
    return {
      ...{ kind: 'failed', reason: 'not-sent', code: 'ADDRESS_REFUSED' },
      message: `The base_url of ${upstream.id} ${refusal}.`,
    }
  return {
    kind: 'target',
    pathOf: (model, delivery) => pathBehind(url, kind, { model, delivery }),
    headers: {
      json: headersFor(upstream, kind, { delivery: 'json', userAgent }),
      stream: headersFor(upstream, kind, { delivery: 'stream', userAgent }),
    },
  }
}
