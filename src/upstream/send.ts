import type { Upstream } from '../catalog/catalog.ts'
import type { StopSignal } from '../lib/stop-signal.ts'
import type { Delivery } from '../model/turn.ts'
import type { DemoUpstream } from './demo/demo-upstream.ts'
import { refusalOfBaseUrl } from './guard-address.ts'
import type { OriginPools } from './origin-pools.ts'
import { ProviderExchange } from './provider-exchange.ts'
import { headersFor, pathBehind, providerKindOf } from './provider-kinds.ts'
import type { UpstreamFailed, UpstreamOutcome } from './upstream-answer.ts'

/** One call of a provider, already in the words of its wire. */
export interface UpstreamCall {
  readonly upstream: Upstream
  /** As the provider calls it: some have it in the path. */
  readonly model: string
  readonly body: Buffer
  /** What the body asks for: an answer in one piece may take as long to begin as to end. */
  readonly delivery: Delivery
  readonly signal: StopSignal
}

/** Asks a provider: the one primitive through which every byte to and from providers goes. */
export type Send = (call: UpstreamCall) => Promise<UpstreamOutcome>

export interface SendDeps {
  readonly demo: DemoUpstream
  readonly pools: Pick<OriginPools, 'poolOf'>
  /** Monotonic microseconds. */
  readonly ticks: () => number
  readonly userAgent: string
}

/** The demo answers in this process; every other provider over the network. */
export function createSend(deps: SendDeps): Send {
  const targetOf = rememberTargets(deps.userAgent)
  return async ({ upstream, model, body, delivery, signal }) => {
    if (upstream.wire === 'demo') return deps.demo.answer(body, signal)
    const target = targetOf(upstream)
    if (target.kind === 'failed') return target
    const opened = deps.pools.poolOf(upstream)
    const pool = opened instanceof Promise ? await opened : opened
    if (signal.stopped)
      return {
        kind: 'failed',
        reason: 'cancelled',
        wasSent: false,
        message: `The call of ${upstream.id} was cancelled.`,
      }
    const { id: upstreamId, timeouts } = upstream
    const path = target.pathOf(model, delivery)
    const headers = target.headersOf(delivery, body)
    return new Promise((settle) => {
      const exchange = new ProviderExchange(deps, { upstreamId, timeouts, delivery, signal, settle })
      pool.dispatch({ path, method: 'POST', headers, body }, exchange)
    })
  }
}

/** What is the same for every call of an upstream. */
interface Target {
  readonly kind: 'target'
  readonly pathOf: (model: string, delivery: Delivery) => string
  readonly headersOf: (delivery: Delivery, body: Buffer) => string[]
}

function rememberTargets(userAgent: string): (upstream: Upstream) => Target | UpstreamFailed {
  const targets = new WeakMap<Upstream, Target | UpstreamFailed>()
  return (upstream) => {
    const known = targets.get(upstream)
    if (known !== undefined) return known
    const target = createTarget(upstream, userAgent)
    targets.set(upstream, target)
    return target
  }
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
  const headers: Readonly<Record<Delivery, string[]>> = {
    json: headersFor(upstream, kind, { delivery: 'json', userAgent }),
    stream: headersFor(upstream, kind, { delivery: 'stream', userAgent }),
  }
  const { headersOfCall } = kind
  return {
    kind: 'target',
    pathOf: (model, delivery) => pathBehind(url, kind, { model, delivery }),
    headersOf(delivery, body) {
      if (headersOfCall === undefined) return headers[delivery]
      const own = headersOfCall(body).filter(([name]) => !upstream.headers.has(name))
      return [...headers[delivery], ...own.flat()]
    },
  }
}
