import type { SqlValue } from '../../src/db/sql-store.ts'
import type { TestServer } from './start-server.ts'

const statement = (sql: string, ...row: SqlValue[]) => ({ sql, rows: [row] })

/** Rows as webhooks leave them, with one in each table of payments: for tests without a provider. */
export async function storePayment({ app }: TestServer, account: string) {
  const ids = { payment: 'pay_storedbyatest', purchase: 'sub_storedbyatest' }
  const row = '(SELECT row FROM accounts WHERE id = ?)'
  await app.operations.files.ledger.atomic([
    statement(
      `INSERT INTO payments (id, account, kind, state, amount_nano, received_nano, refunded_nano, intent, created_at, paid_at)
         VALUES (?, ${row}, 'top_up', 'paid', 5000000000, 5000000000, 1000000000, 'pi_stored', 1, 2)`,
      ...[ids.payment, account],
    ),
    statement(
      `INSERT INTO payment_steps (payment, step, delta_nano, at, done_at)
         VALUES ((SELECT row FROM payments WHERE id = ?), 0, 5000000000, 1, 2)`,
      ids.payment,
    ),
    statement(`INSERT INTO payment_events (id, type, at) VALUES ('evt_stored', 'charge.succeeded', 2)`),
    statement(
      `INSERT INTO payers (account, customer, method, card, automatic, below_nano, add_nano, month_nano)
         VALUES (${row}, 'cus_stored', 'pm_stored', 'visa 4242', 0, 5000000000, 9000000000, 90000000000)`,
      account,
    ),
    statement(
      `INSERT INTO plan_purchases (subscription, account, plan, status, status_at, paid_until, created_at)
         VALUES (?, ${row}, 'pro', 'active', 1, 2, 1)`,
      ...[ids.purchase, account],
    ),
  ])
  return ids
}

/** Top-ups that were refunded, of which the wallet could not give everything back. */
export const storeTopUps = ({ app }: TestServer, account: string, count: number) =>
  app.operations.files.ledger.atomic(
    Array.from({ length: count }, (_, index) =>
      statement(
        `INSERT INTO payments (id, account, kind, state, amount_nano, received_nano, refunded_nano, owed_nano, intent, created_at, paid_at)
          VALUES (?, (SELECT row FROM accounts WHERE id = ?), 'top_up', 'paid', 5000000000, 5000000000, 5000000000, 7, ?, 1, 2)`,
        ...[`pay_stored${index}`, account, `pi_stored${index}`],
      ),
    ),
  )

/** Notices to operators. */
export const storeNotices = ({ app }: TestServer, count: number) =>
  app.operations.files.ledger.atomic(
    Array.from({ length: count }, (_, index) =>
      statement(
        `INSERT INTO notices (id, once, event, account, person, facts, at) VALUES (?, ?, 'lane.up', NULL, NULL, ?, ?)`,
        `ntc_stored${index}`,
        `stored ${index}`,
        JSON.stringify({ lane: 'demo/swift' }),
        app.operations.clock.now(),
      ),
    ),
  )
