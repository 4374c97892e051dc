import type { TurnCharge } from '../../books/close-turn.ts'
import type { CompactedTokens } from '../../model/compacted-tokens.ts'
import type { RequestId } from '../../model/ids.ts'
import type { NanoUsd } from '../../model/money.ts'
import type { MeteredUsage } from '../../model/usage.ts'
import type { Ending, SettleOutcome } from '../ledger.ts'
import type { PostgresCore } from './postgres-core.ts'

/** What `close_turns` is asked for one turn. Without `cost` it is a release. */
export interface CloseOp {
  readonly requestId: RequestId
  /** Names this close: sent again, it is known by it. */
  readonly closing: string
  readonly cost?: NanoUsd
  readonly usage?: MeteredUsage
  readonly tier?: number
  readonly outcome: string
  readonly lane: string | undefined
  readonly firstByteMs: number | undefined
  readonly totalMs: number
  readonly attempts: string
  readonly compaction: CompactedTokens | undefined
  readonly kept: boolean
}

export type CloseRow =
  | { readonly kind: 'settled' | 'released'; readonly charge: string; readonly shortfall: string }
  | { readonly kind: 'not-open' }

export async function closeOnPostgres(
  core: PostgresCore,
  { requestId, receipt }: { readonly requestId: RequestId; readonly receipt: number },
  ending: Ending,
  charge: TurnCharge | undefined,
): Promise<SettleOutcome> {
  const row = await core.closes.enqueue(closeOp(core, requestId, ending, charge)).catch((error: unknown) => {
    if (core.available) throw error
    return undefined
  })
  // Not known: the hold stays, or is closed already; either way recovery finds it as it is.
  if (!row) return { kind: 'lost' }
  core.open.delete(requestId)
  core.marks.forget(receipt)
  if (row.kind === 'not-open') return { kind: 'not-ours' }
  if (!charge) return { kind: 'released' }
  const { charge: charged, shortfall } = row
  return {
    kind: 'settled',
    charge: BigInt(charged) as NanoUsd,
    shortfall: BigInt(shortfall) as NanoUsd,
    tier: charge.tier,
  }
}

let closings = 0

function closeOp(
  { node }: PostgresCore,
  requestId: RequestId,
  { outcome, lane, firstByteMs, totalMs, attempts, compaction, kept = false }: Ending,
  charge: TurnCharge | undefined,
): CloseOp {
  const how = { outcome, lane, firstByteMs, totalMs, attempts: JSON.stringify(attempts), compaction, kept }
  const paid = charge && { cost: charge.cost, usage: charge.usage, tier: charge.tier }
  return { requestId, closing: `${node}.${++closings}`, ...how, ...paid }
}
