import type { z } from 'zod'
import type { requestItem } from '../contract/requests.ts'
import type { ReceiptsTable } from '../store/tables.ts'
import { receiptView } from './receipt-view.ts'

/** A request as the lists of the console have it. */
export type RequestItem = z.output<typeof requestItem>

export interface AskingKey {
  readonly id: string
  readonly name: string
}

export function requestItemOf(receipt: ReceiptsTable, key: AskingKey): RequestItem {
  const { id, state, outcome, opened_at, closed_at, model, kind, tokens, hold, charge } = receiptView(receipt)
  return {
    ...{ id, state, outcome, opened_at, closed_at, model, kind, tokens, hold, charge },
    ...{ lane: receipt.lane, first_byte_ms: receipt.first_byte_ms, total_ms: receipt.total_ms },
    key: { id: key.id, name: key.name },
  }
}
