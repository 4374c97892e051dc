import { nanoOf } from './price.mjs'
import { ACCOUNTS } from './scene.mjs'

/** What must be true of the rows whatever was asked. */
export function auditBooks({ accounts, buckets, receipts, transfers }, report) {
  const open = receipts.filter(({ state }) => state === 'open').length
  if (open > 0) report('I6', 'receipts', `${open} are open`)
  for (const { subject, held_nano } of buckets) {
    if (held_nano !== 0n) report('I6', subject, `${held_nano} nano-dollars are held`)
  }
  for (const { row, email } of accounts) {
    const wallet = buckets.find(({ account, kind }) => account === row && kind === 'wallet')
    const credited = sumOf(transfers, row, 'amount_nano')
    const charged = sumOf(receipts, row, 'charge_nano')
    if (wallet.posted_nano !== credited - charged) {
      report('I2', email, `has ${wallet.posted_nano}, was credited ${credited} and charged ${charged}`)
    }
    if (wallet.posted_nano < wallet.held_nano) report('I4', email, `${wallet.posted_nano} less ${wallet.held_nano}`)
    const expected = creditOf(email)
    const first = transfers.filter(({ account, ref }) => account === row && ref === 'first')
    if (first.length !== 1 || first[0].amount_nano !== expected)
      report('I2', email, 'its first credit is not in the books')
  }
}

const sumOf = (rows, account, column) =>
  rows.reduce((sum, row) => (row.account === account ? sum + (row[column] ?? 0n) : sum), 0n)

const creditOf = (email) => nanoOf(ACCOUNTS.find((account) => account.email === email).credit)

/** Every credit that was acknowledged, or tried until it was, is in the books once. */
export function auditCredits({ transfers }, credits) {
  return credits.flatMap(({ ref, amount }) => {
    const found = transfers.filter((transfer) => transfer.ref === ref)
    if (found.length === 1 && found[0].amount_nano === nanoOf(amount)) return []
    return [{ invariant: 'I2', id: ref, says: `a credit of ${amount} is in the books ${found.length} times` }]
  })
}
