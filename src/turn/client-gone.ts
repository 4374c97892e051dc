import type { Lane, Model } from '../catalog/catalog.ts'
import type { Effort } from '../model/effort.ts'

/** What the going of its client means for a provider: it is cut, or it is read on without the client. */
export type WhenClientGoes = 'cut' | 'drain'

/**
 * The operator's word where there is one. Else a provider is cut, but for one that may be reasoning unseen: only it knows
 * how much, and it tells that at the end.
 */
export function whenClientGoes(
  { upstream: { onClientGone } }: Lane,
  dialect: { readonly hidesReasoning: boolean },
  asked: { readonly model: Model; readonly effort: Effort | undefined },
): WhenClientGoes {
  if (onClientGone !== undefined) return onClientGone === 'drain' ? 'drain' : 'cut'
  return dialect.hidesReasoning && mayReason(asked.model, asked.effort) ? 'drain' : 'cut'
}

/** A model without efforts does not reason, and one that was asked for `none` does not either. */
const mayReason = ({ efforts }: Model, effort: Effort | undefined): boolean =>
  efforts?.length !== 0 && String(effort) !== 'none'
