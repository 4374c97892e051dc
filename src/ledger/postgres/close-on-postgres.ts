import type { TurnCharge } from '../../books/close-turn.ts'
import type { RequestId } from '../../model/ids.ts'
import type { NanoUsd } from '../../model/money.ts'
import type { Ending, SettleOutcome } from '../ledger.ts'
import { type TurnEnd, turnEndOf } from '../turn-end.ts'
import type { CloseOp, PostgresCore } from './postgres-core.ts'

export async function closeOnPostgres(
  core: PostgresCore,
  { requestId, receipt }: { readonly requestId: RequestId; readonly receipt: number },
  ending: Ending,
  charge: TurnCharge | undefined,
): Promise<SettleOutcome> {
  const row = await core.closes.enqueue(closeOp(core, turnEndOf(requestId, ending, charge))).catch((error: unknown) => {
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

function closeOp({ node }: PostgresCore, { charge, ...end }: TurnEnd): CloseOp {
  // A settlement is a charge, and says more than that.
  const paid = charge && { cost: charge.cost, usage: charge.usage, tier: charge.tier }
  return { ...end, closing: `${node}.${++closings}`, ...paid }
}
