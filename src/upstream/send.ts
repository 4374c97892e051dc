import type { Upstream } from '../catalog/catalog.ts'
import type { StopSignal } from '../lib/stop-signal.ts'
import type { Delivery } from '../model/turn.ts'
import type { CallProvider } from './call-provider.ts'
import type { DemoUpstream } from './demo/demo-upstream.ts'
import type { UpstreamOutcome } from './upstream-answer.ts'

/** One call of a provider, already in the words of its wire. */
export interface UpstreamCall {
  readonly upstream: Upstream
  /** As the provider calls it. */
  readonly model: string
  readonly body: Buffer
  /** What the body asks for: an answer in one piece may take as long to begin as to end. */
  readonly delivery: Delivery
  readonly signal: StopSignal
}

/** Asks a provider: the one primitive through which every byte to and from providers goes. */
export type Send = (call: UpstreamCall) => Promise<UpstreamOutcome>

export function createSend(deps: { readonly demo: DemoUpstream; readonly callProvider: CallProvider }): Send {
  return (call) => (call.upstream.wire === 'demo' ? deps.demo.answer(call.body, call.signal) : deps.callProvider(call))
}
