import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const NANO_PER_CENT = 10_000_000n
const TABLES = ['accounts', 'buckets', 'transfers', 'payments', 'payment_steps', 'payment_events']

/** The rows while no server runs. */
export async function readPaymentRows({ dist, data }) {
  const load = (file) => import(pathToFileURL(join(dist, file)).href)
  const [{ openDatabase }, { systemClock: clock }] = await Promise.all([
    load('db/open-database.js'),
    load('lib/clock.js'),
  ])
  const database = await openDatabase({ path: join(data, 'ledger.db'), clock })
  try {
    const rows = {}
    for (const table of TABLES) rows[table] = await database.file.all(`SELECT * FROM ${table}`, [])
    return rows
  } finally {
    await database.close()
  }
}

/**
 * Compares the rows with what the provider was paid and gave back. It knows nothing of how the server works: only the references
 * of its transfers.
 */
export function auditPayments({ payments, rows }) {
  const violations = {
    'each payment is credited once, with its amount': [],
    'what was refunded or disputed is taken back, or owed where the wallet is spent': [],
    'no other money was moved, and no wallet is below zero': [],
    'each payment ends in the right state': [],
  }
  const [credits, backs, wallets, states] = Object.values(violations)
  const byRef = groupByRef(rows.transfers)
  const stored = new Map(rows.payments.map((row) => [row.id, row]))
  const figures = { credited: 0, refunded: 0, disputed: 0, owing: 0, steps: rows.payment_steps.length }
  const moved = new Map()
  for (const { payment, cents, back, isSpender } of payments) {
    const amount = BigInt(cents) * NANO_PER_CENT
    const row = stored.get(payment)
    const made = rows.transfers.filter(({ ref }) => ref === `stripe:${payment}` || ref.startsWith(`stripe:${payment}:`))
    const first = byRef.get(`stripe:${payment}`) ?? []
    if (first.length !== 1 || first[0].amount_nano !== amount || first[0].kind !== 'credit')
      credits.push(
        `${payment}: ${first.length} credits of ${first.map((each) => each.amount_nano).join(', ')}, not ${amount}`,
      )
    else figures.credited += 1
    const sum = made.reduce((total, { amount_nano: delta }) => total + delta, 0n)
    const due = amount - BigInt(back) * NANO_PER_CENT
    if (sum - row.owed_nano !== due) backs.push(`${payment}: has ${sum}, owes ${row.owed_nano}, not ${due}`)
    if (row.owed_nano !== 0n && !isSpender) backs.push(`${payment}: owes although nothing was spent`)
    if (row.state !== 'paid' || row.settled !== 1) states.push(`${payment}: ${row.state}, settled ${row.settled}`)
    if (row.owed_nano > 0n) figures.owing += 1
    if (row.refunded_nano > 0n) figures.refunded += 1
    if (row.dispute !== null) figures.disputed += 1
    moved.set(row.account, (moved.get(row.account) ?? 0n) + sum)
  }
  checkWallets({ rows, moved, wallets })
  const notDone = rows.payment_steps.filter(({ done_at: doneAt }) => doneAt === null)
  for (const { payment, step } of notDone) states.push(`step ${step} of payment ${payment} is not done`)
  return { violations, figures }
}

function checkWallets({ rows, moved, wallets }) {
  for (const { kind, account, posted_nano: posted } of rows.buckets) {
    if (kind !== 'wallet') continue
    const others = rows.transfers.filter((each) => each.account === account && !each.ref.startsWith('stripe:'))
    const other = others.reduce((total, { amount_nano: delta }) => total + delta, 0n)
    const expected = (moved.get(account) ?? 0n) + other
    if (posted !== expected || posted < 0n) wallets.push(`account ${account} has ${posted}, not ${expected}`)
  }
}

function groupByRef(transfers) {
  const groups = new Map()
  for (const transfer of transfers) groups.set(transfer.ref, [...(groups.get(transfer.ref) ?? []), transfer])
  return groups
}
