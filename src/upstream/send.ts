import type { Upstream } from '../catalog/catalog.ts'
import { assertNever } from '../lib/assert-never.ts'
import type { StopSignal } from '../lib/stop-signal.ts'
import type { Delivery } from '../model/turn.ts'
import type { CallProvider } from './call-provider.ts'
import type { DemoUpstream } from './demo/demo-upstream.ts'
import type { UpstreamOutcome } from './upstream-answer.ts'

/** One call of a provider, already in the words of its wire. */
export interface UpstreamCall {
  readonly upstream: Upstream
  readonly body: Buffer
  /** What the body asks for: an answer in one piece may take as long to begin as to end. */
  readonly delivery: Delivery
  readonly signal: StopSignal
}

/** Asks a provider: the one primitive through which every byte to and from providers goes. */
export type Send = (call: UpstreamCall) => Promise<UpstreamOutcome>

export function createSend(deps: { readonly demo: DemoUpstream; readonly callProvider: CallProvider }): Send {
  return (call) => {
    const { wire } = call.upstream
    switch (wire) {
      case 'demo':
        return deps.demo.answer(call.body, call.signal)
      case 'chat':
      case 'responses':
        return deps.callProvider(call)
      case 'anthropic':
      case 'gemini':
        // The configuration refuses these wires by name until they can be served.
        throw new Error(`Upstream ${call.upstream.id} speaks ${wire}, which the configuration should have refused`)
      default:
        return assertNever(wire)
    }
  }
}
