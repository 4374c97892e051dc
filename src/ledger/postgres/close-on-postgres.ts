import type { Ending } from '../../model/ending.ts'
import type { RequestId } from '../../model/ids.ts'
import type { NanoUsd } from '../../model/money.ts'
import type { SettleOutcome } from '../ledger.ts'
import type { CloseOp, PostgresCore } from './postgres-core.ts'

export async function closeOnPostgres(
  core: PostgresCore,
  { requestId, receipt }: { readonly requestId: RequestId; readonly receipt: number },
  ending: Ending,
): Promise<SettleOutcome> {
  const op = closeOp(requestId, ending, `${core.node}.${++closings}`)
  const row = await core.closes.enqueue(op).catch((error: unknown) => {
    if (core.available) throw error
    return undefined
  })
  // Not known: the hold stays, or is closed already; either way recovery finds it as it is.
  if (!row) return { kind: 'lost' }
  core.open.delete(requestId)
  core.marks.forget(receipt)
  if (row.kind === 'not-open') return { kind: 'not-ours' }
  if (!ending.owed) return { kind: 'released' }
  const { charge, shortfall } = row
  return {
    kind: 'settled',
    charge: BigInt(charge) as NanoUsd,
    shortfall: BigInt(shortfall) as NanoUsd,
    tier: ending.owed.tier,
  }
}

let closings = 0

const closeOp = (requestId: RequestId, { owed, ...ending }: Ending, closing: string): CloseOp => ({
  ...ending,
  requestId,
  attempts: JSON.stringify(ending.attempts),
  closing,
  ...owed,
})
