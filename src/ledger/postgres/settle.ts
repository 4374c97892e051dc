import type { Ending } from '../../model/ending.ts'
import type { RequestId } from '../../model/ids.ts'
import type { NanoUsd } from '../../model/money.ts'
import type { Price } from '../../model/price.ts'
import type { SettleOutcome } from '../ledger.ts'
import { unpackMarks } from '../marks.ts'
import { priceFrom } from '../prices.ts'
import { chargeForDelivered, recoveredEnding } from '../recovery.ts'
import type { CloseOp, PostgresCore } from './core.ts'

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

interface AbandonedTurn {
  readonly requestId: RequestId
  readonly receipt: number
  readonly node: number
  readonly model: string
  readonly priceVersion: number
  readonly inputEstimate: number
  readonly cachedEstimate: number
  readonly outputBound: number
}

interface Abandoned {
  readonly turns: readonly AbandonedTurn[]
  /** By node: its packed marks in hexadecimal. */
  readonly marks: Readonly<Record<string, string>>
}

/**
 * Ends holds that nobody attends: of nodes whose lease has ended, and of turns that this process has lost. A lease that
 * has ended stays ended, so what is listed here is abandoned for good; should the dead come back and settle first, the
 * close finds nothing open. Returns how many were resolved.
 */
export async function recoverOnPostgres(core: PostgresCore): Promise<number> {
  const { turns, marks } = await core.call<Abandoned>('abandoned_turns($1, $2)', [core.node, [...core.attended]])
  const delivered = new Map(Object.values(marks).flatMap((packed) => [...unpackMarks(Buffer.from(packed, 'hex'))]))
  const prices = new Map<string, Price>()
  const resolved = await Promise.all(
    turns.map(async (turn) => {
      const tokens = (turn.node === core.node ? core.marks.get(turn.receipt) : undefined) ?? delivered.get(turn.receipt)
      const owed =
        tokens === undefined ? undefined : chargeForDelivered(turn, tokens, await priceOf(core, prices, turn))
      return closeOnPostgres(core, turn, recoveredEnding(owed))
    }),
  )
  return resolved.filter(({ kind }) => kind === 'settled' || kind === 'released').length
}

async function priceOf(core: PostgresCore, known: Map<string, Price>, turn: AbandonedTurn): Promise<Price> {
  const { model, priceVersion } = turn
  const name = `${priceVersion} ${model}`
  const found = known.get(name)
  if (found) return found
  const query = '(SELECT terms FROM prices WHERE model = $1 AND version = $2)'
  const terms = await core.call<string | null>(query, [model, priceVersion])
  if (terms === null) throw new Error(`Price version ${priceVersion} of model ${model} is not in the books`)
  const price = priceFrom(priceVersion, terms)
  known.set(name, price)
  return price
}
