import { nanoOf } from '../../chaos/lib/price.mjs'

/** The books at rest held against what clients were told. Says each fault in a sentence. */
export function auditLedger({ ledgerRows, charges }) {
  const faults = []
  const { receipts, buckets, accounts, transfers } = ledgerRows
  const byId = new Map(receipts.map((receipt) => [receipt.request_id, receipt]))
  if (byId.size !== receipts.length) faults.push(`${receipts.length - byId.size} requests have two receipts`)
  const open = receipts.filter(({ state }) => state === 'open').length
  if (open > 0) faults.push(`${open} receipts are open`)
  for (const { subject, held_nano } of buckets) if (held_nano !== 0n) faults.push(`${held_nano} are held on ${subject}`)
  for (const [id, charge] of charges) {
    const { state, charge_nano } = byId.get(id) ?? {}
    if (state !== 'settled' || charge_nano !== nanoOf(charge))
      faults.push(`${id} was told ${charge} and is ${state} at ${charge_nano}`)
  }
  for (const { row, email } of accounts) {
    const wallet = buckets.find(({ account, kind }) => account === row && kind === 'wallet')
    const credited = sum(transfers, (transfer) => transfer.account === row && transfer.unit === 'usd', 'amount_nano')
    const charged = sum(receipts, ({ account, kind }) => account === row && kind === 'wallet', 'charge_nano')
    if (wallet && wallet.posted_nano !== credited - charged)
      faults.push(`${email} has ${wallet.posted_nano}, was credited ${credited} and charged ${charged}`)
  }
  return faults
}

const sum = (rows, isMeant, field) =>
  rows.reduce((total, row) => (isMeant(row) ? total + (row[field] ?? 0n) : total), 0n)
