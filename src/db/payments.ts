import { sql } from 'kysely'
import type { PageAfter, PageBefore } from './sql.ts'
import { type AtomicStatement, changeOne, type SqlValue, statement } from './sql-store.ts'
import type { LedgerDb, Row } from './tables.ts'

export type StoredPayment = Row<'payments'>
export type PaymentStep = Row<'payment_steps'>
export type StoredPayer = Row<'payers'>
export type StoredPurchase = Row<'plan_purchases'>

export const findPayment = (db: LedgerDb, id: string) =>
  db.selectFrom('payments').selectAll().where('id', '=', id).executeTakeFirst()

export const findPaymentByRow = (db: LedgerDb, row: number) =>
  db.selectFrom('payments').selectAll().where('row', '=', row).executeTakeFirst()

export const findPaymentByIntent = (db: LedgerDb, intent: string) =>
  db.selectFrom('payments').selectAll().where('intent', '=', intent).limit(1).executeTakeFirst()

export const findPaymentByInvoice = (db: LedgerDb, invoice: string) =>
  db.selectFrom('payments').selectAll().where('invoice', '=', invoice).executeTakeFirst()

/** The newest first. */
export const listPaymentsOf = (db: LedgerDb, account: number, { before, limit }: PageBefore) =>
  db
    .selectFrom('payments')
    .selectAll()
    .where('account', '=', account)
    .where('row', '<', before)
    .orderBy('row', 'desc')
    .limit(limit)
    .execute()

export type PaymentOfAccount = Awaited<ReturnType<typeof listAllPayments>>[number]

/** Of all accounts, the newest first. `isOwed`: only those of which the wallet could not give everything back. */
export const listAllPayments = (db: LedgerDb, { before, limit, isOwed }: PageBefore & { readonly isOwed: boolean }) =>
  db
    .selectFrom('payments')
    .innerJoin('accounts', 'accounts.row', 'payments.account')
    .selectAll('payments')
    .select(['accounts.id as account_id', 'accounts.email'])
    .where('payments.row', '<', before)
    // Literals, because SQLite does not use a partial index for a parameter.
    .$if(isOwed, (rows) => rows.where(sql<boolean>`payments.owed_nano > 0`))
    .orderBy('payments.row', 'desc')
    .limit(limit)
    .execute()

export const listUnsettledPayments = (db: LedgerDb, { after, limit }: PageAfter) =>
  db
    .selectFrom('payments')
    .selectAll()
    .where(sql<boolean>`settled = 0`)
    .where('row', '>', after)
    .orderBy('row')
    .limit(limit)
    .execute()

export const listOwedPayments = (db: LedgerDb, { after, limit }: PageAfter) =>
  db
    .selectFrom('payments')
    .selectAll()
    .where(sql<boolean>`owed_nano > 0`)
    .where('row', '>', after)
    .orderBy('row')
    .limit(limit)
    .execute()

/** Whether the wallet could not give back all that was refunded or disputed. */
export const owesMoney = async (db: LedgerDb, account: number): Promise<boolean> =>
  (await db
    .selectFrom('payments')
    .select('row')
    .where('account', '=', account)
    .where(sql<boolean>`owed_nano > 0`)
    .limit(1)
    .executeTakeFirst()) !== undefined

export const listOpenPayments = (db: LedgerDb, { after, limit }: PageAfter) =>
  db
    .selectFrom('payments')
    .selectAll()
    .where(sql<boolean>`state = 'open'`)
    .where('row', '>', after)
    .orderBy('row')
    .limit(limit)
    .execute()

/** The payments of an account that are not completed since this time, up to `limit`. */
export const listOpenPaymentsOf = (db: LedgerDb, account: number, since: number, limit: number) =>
  db
    .selectFrom('payments')
    .select('row')
    .where('account', '=', account)
    .where(sql<boolean>`state = 'open'`)
    .where('created_at', '>=', since)
    .orderBy('row', 'desc')
    .limit(limit)
    .execute()

/** Purchases of plans that were begun and not completed. */
export const listOpenPlanPayments = (db: LedgerDb, account: number) =>
  db
    .selectFrom('payments')
    .select('session')
    .where('account', '=', account)
    .where(sql<boolean>`state = 'open' AND kind = 'plan'`)
    .orderBy('row', 'desc')
    .limit(20)
    .execute()

export const findOpenAutomaticPayment = (db: LedgerDb, account: number) =>
  db
    .selectFrom('payments')
    .selectAll()
    .where('account', '=', account)
    .where(sql<boolean>`kind = 'automatic' AND state = 'open'`)
    .executeTakeFirst()

/** What a saved card was charged or is being charged since this time. */
export async function sumAutomaticPayments(db: LedgerDb, account: number, since: number): Promise<bigint> {
  const rows = await db
    .selectFrom('payments')
    .select('amount_nano')
    .where('account', '=', account)
    .where(sql<boolean>`kind = 'automatic'`)
    .where('created_at', '>=', since)
    .where('state', 'in', ['open', 'paid'])
    .execute()
  return rows.reduce((sum, { amount_nano }) => sum + amount_nano, 0n)
}

export type NewPayment = Pick<
  StoredPayment,
  'id' | 'account' | 'kind' | 'state' | 'amount_nano' | 'plan' | 'created_at' | 'saves_card'
>

const NEW_COLUMNS = ['id', 'account', 'kind', 'state', 'amount_nano', 'plan', 'created_at', 'saves_card'] as const

export const paymentInsert = (payment: NewPayment): AtomicStatement =>
  changeOne(
    `INSERT INTO payments (${NEW_COLUMNS.join(', ')}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ...NEW_COLUMNS.map((column): SqlValue => payment[column]),
  )

/** A paid invoice of a renewal. */
export const invoiceInsert = (
  payment: NewPayment & Pick<StoredPayment, (typeof INVOICE_COLUMNS)[number]>,
): AtomicStatement => {
  const columns = [...NEW_COLUMNS, ...INVOICE_COLUMNS]
  return changeOne(
    `INSERT INTO payments (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
    ...columns.map((column): SqlValue => payment[column]),
  )
}

const INVOICE_COLUMNS = ['invoice', 'received_nano', 'receipt_url', 'paid_at', 'purchase', 'period_end'] as const

const CHANGED = [
  ...(['state', 'received_nano', 'refunded_nano', 'disputed_nano', 'dispute', 'dispute_at', 'owed_nano'] as const),
  ...(['session', 'intent', 'invoice', 'receipt_url', 'failure', 'paid_at', 'saves_card', 'settled'] as const),
  ...(['purchase', 'period_end'] as const),
] as const

export const isSamePayment = (one: StoredPayment, other: StoredPayment): boolean =>
  CHANGED.every((column) => one[column] === other[column])

/** Only if nothing else has changed it since it was read. */
export const paymentUpdate = (payment: StoredPayment): AtomicStatement =>
  changeOne(
    `UPDATE payments SET ${CHANGED.map((column) => `${column} = ?`).join(', ')}, version = version + 1
       WHERE row = ? AND version = ?`,
    ...CHANGED.map((column): SqlValue => payment[column]),
    ...[payment.row, payment.version],
  )

export const listPaymentSteps = (db: LedgerDb, payment: number) =>
  db.selectFrom('payment_steps').selectAll().where('payment', '=', payment).orderBy('step').execute()

export const stepInsert = ({ payment, step, delta_nano, at }: Omit<PaymentStep, 'done_at'>): AtomicStatement =>
  changeOne(
    'INSERT INTO payment_steps (payment, step, delta_nano, at) VALUES (?, ?, ?, ?)',
    payment,
    step,
    delta_nano,
    at,
  )

/** What the ledger has moved, which overrules what was noted before. */
export const stepDone = ({ payment, step, delta_nano }: PaymentStep, at: number): AtomicStatement =>
  changeOne(
    'UPDATE payment_steps SET delta_nano = ?, done_at = coalesce(done_at, ?) WHERE payment = ? AND step = ?',
    ...[delta_nano, at, payment, step],
  )

/** The ledger has refused it: it moves nothing. */
export const stepVoid = ({ payment, step }: PaymentStep, at: number): AtomicStatement =>
  statement(
    'UPDATE payment_steps SET delta_nano = 0, done_at = ? WHERE payment = ? AND step = ? AND done_at IS NULL',
    ...[at, payment, step],
  )

export const findPaymentEvent = (db: LedgerDb, id: string) =>
  db.selectFrom('payment_events').selectAll().where('id', '=', id).executeTakeFirst()

export const eventInsert = (id: string, type: string, at: number): AtomicStatement =>
  statement('INSERT INTO payment_events (id, type, at) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING', id, type, at)

export const eventsDelete = (before: number): AtomicStatement =>
  statement('DELETE FROM payment_events WHERE at < ?', before)

export const findPayer = (db: LedgerDb, account: number) =>
  db.selectFrom('payers').selectAll().where('account', '=', account).executeTakeFirst()

/** Those whose card may be charged when their balance is low. */
export const listAutomaticPayers = (db: LedgerDb, { after, limit }: PageAfter, now: number) =>
  db
    .selectFrom('payers')
    .selectAll()
    .where(sql<boolean>`automatic = 1`)
    .where('account', '>', after)
    .where('next_at', '<=', now)
    .orderBy('account')
    .limit(limit)
    .execute()

const PAYER_COLUMNS = [
  ...(['customer', 'method', 'card', 'automatic', 'below_nano', 'add_nano', 'month_nano'] as const),
  ...(['failures', 'failure', 'failed_at', 'next_at'] as const),
] as const

export const payerInsert = (account: number): AtomicStatement =>
  statement('INSERT INTO payers (account) VALUES (?) ON CONFLICT (account) DO NOTHING', account)

export const payerUpdate = (payer: StoredPayer): AtomicStatement =>
  changeOne(
    `UPDATE payers SET ${PAYER_COLUMNS.map((column) => `${column} = ?`).join(', ')}, version = version + 1
       WHERE account = ? AND version = ?`,
    ...PAYER_COLUMNS.map((column): SqlValue => payer[column]),
    ...[payer.account, payer.version],
  )

export const findPurchaseByRow = (db: LedgerDb, row: number) =>
  db.selectFrom('plan_purchases').selectAll().where('row', '=', row).executeTakeFirst()

/** The end of the last period that is paid and was not given back: 0 if all were. Undefined: no invoice is known. */
export async function findPaidUntil(db: LedgerDb, purchase: number): Promise<number | undefined> {
  const invoices = await db
    .selectFrom('payments')
    .select(['period_end', 'received_nano', 'refunded_nano', 'disputed_nano'])
    .where('purchase', '=', purchase)
    .execute()
  const isKept = ({ received_nano: received, refunded_nano, disputed_nano }: (typeof invoices)[number]) =>
    !received || refunded_nano + disputed_nano < received
  return invoices.length === 0 ? undefined : Math.max(0, ...invoices.filter(isKept).map((each) => each.period_end ?? 0))
}

export const findPurchase = (db: LedgerDb, subscription: string) =>
  db.selectFrom('plan_purchases').selectAll().where('subscription', '=', subscription).executeTakeFirst()

/** The newest first. */
export const listPurchasesOf = (db: LedgerDb, account: number, limit: number) =>
  db
    .selectFrom('plan_purchases')
    .selectAll()
    .where('account', '=', account)
    .orderBy('row', 'desc')
    .limit(limit)
    .execute()

export const listPurchases = (db: LedgerDb, { after, limit }: PageAfter) =>
  db.selectFrom('plan_purchases').selectAll().where('row', '>', after).orderBy('row').limit(limit).execute()

export const purchaseInsert = (
  purchase: Pick<StoredPurchase, 'subscription' | 'account' | 'plan' | 'created_at'>,
): AtomicStatement =>
  statement(
    `INSERT INTO plan_purchases (subscription, account, plan, created_at, cancels, status_at, paid_until, assigned_until)
       VALUES (?, ?, ?, ?, 0, 0, 0, 0) ON CONFLICT (subscription) DO NOTHING`,
    ...[purchase.subscription, purchase.account, purchase.plan, purchase.created_at],
  )

const PURCHASE_COLUMNS = ['status', 'cancels', 'status_at', 'paid_until', 'assigned_until'] as const

export const isSamePurchase = (one: StoredPurchase, other: StoredPurchase): boolean =>
  PURCHASE_COLUMNS.every((column) => one[column] === other[column])

export const purchaseUpdate = (purchase: StoredPurchase): AtomicStatement =>
  changeOne(
    `UPDATE plan_purchases SET ${PURCHASE_COLUMNS.map((column) => `${column} = ?`).join(', ')}, version = version + 1
       WHERE row = ? AND version = ?`,
    ...PURCHASE_COLUMNS.map((column): SqlValue => purchase[column]),
    ...[purchase.row, purchase.version],
  )
