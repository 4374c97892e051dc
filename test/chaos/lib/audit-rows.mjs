import { nanoOf } from './price.mjs'
import { ACCOUNTS } from './scene.mjs'

/** The rows of the other sides, by unit: what was used of it. */
const USED = { usd: 2, quota: -12 }
/** The only other side that keeps a balance: the outside world. */
const OUTSIDE = 1
/** What a key of a kind may draw on. */
const DRAWN_ON = { wallet: new Set(['wallet']), builder: new Set(['window']) }

/**
 * What must be true of the rows whatever was asked, at rest or in the middle of everything: nothing here is taken from the
 * product's own view of its charges, and it holds for the file that a kill leaves behind as well. `prepared` are the accounts
 * whose first credit was acknowledged.
 */
export function auditRows(ledgerRows, report, prepared = ACCOUNTS) {
  const buckets = new Map(ledgerRows.buckets.map((bucket) => [bucket.row, bucket]))
  const draws = ledgerRows.receipts.map((receipt) => ({
    receipt,
    on: JSON.parse(receipt.buckets).map((row) => buckets.get(row)),
  }))
  auditTransfers(ledgerRows, buckets, report)
  auditBalances(ledgerRows, draws, report)
  auditCounters(ledgerRows, report)
  auditDraws(draws, report)
  auditUsageEntries(ledgerRows, draws, report)
  auditWallets(ledgerRows, report, prepared)
}

const add = (sums, name, amount) => sums.set(name, (sums.get(name) ?? 0n) + amount)

function auditTransfers({ transfers, entries }, buckets, report) {
  const sums = new Map()
  const units = new Map(transfers.map(({ row, unit }) => [row, unit]))
  for (const { transfer, bucket, delta_nano } of entries) {
    const { unit } = buckets.get(bucket)
    add(sums, `transfer ${transfer} ${unit}`, delta_nano)
    if (unit !== units.get(transfer)) report('I11', `transfer ${transfer}`, `of ${units.get(transfer)} moves ${unit}`)
  }
  for (const [which, sum] of sums) if (sum !== 0n) report('I1', which, `its entries sum to ${sum}`)
}

function auditBalances({ buckets, entries }, draws, report) {
  const posted = new Map()
  const held = new Map()
  for (const { bucket, delta_nano } of entries) add(posted, bucket, delta_nano)
  for (const { receipt, on } of draws) {
    for (const { row, unit } of on) {
      if (receipt.state === 'open') add(held, row, receipt.hold_nano)
      if (receipt.state !== 'settled') continue
      add(posted, row, -receipt.charge_nano)
      add(posted, USED[unit], receipt.charge_nano)
    }
  }
  for (const { row, kind, subject, posted_nano, held_nano } of buckets) {
    const which = `${subject} (${row})`
    const expected = kind === 'system' && row !== OUTSIDE ? 0n : (posted.get(row) ?? 0n)
    if (posted_nano !== expected) report('I2', which, `${posted_nano}, its entries ${posted.get(row)}`)
    if (held_nano !== (held.get(row) ?? 0n)) report('I3', which, `${held_nano} are held, by holds ${held.get(row)}`)
    if (kind !== 'system' && posted_nano < held_nano) report('I4', which, `${posted_nano} less ${held_nano}`)
  }
}

/** What was used and is held under a cap is what the receipts of the running period used and hold. */
function auditCounters({ spend_counters: counters, receipts }, report) {
  const counted = new Map()
  for (const receipt of receipts)
    for (const mark of receipt.caps?.split(' ') ?? []) {
      const subject = subjectOf(receipt, mark)
      if (!counted.has(subject)) counted.set(subject, [])
      counted.get(subject).push({ receipt, ...useOf(receipt, mark) })
    }
  for (const counter of counters) {
    const { subject, first_receipt, carried_nano, bound_nano, spent_nano, held_nano } = counter
    const own = (counted.get(subject) ?? []).filter(({ receipt }) => receipt.row >= first_receipt)
    const spent = own.reduce((total, each) => total + each.spent, carried_nano)
    const held = own.reduce((total, each) => (each.receipt.state === 'open' ? total + each.held : total), 0n)
    if (spent_nano !== spent) report('I2', subject, `${spent_nano} are spent, by its receipts ${spent}`)
    if (held_nano !== held) report('I3', subject, `${held_nano} are held, by holds ${held}`)
    if (spent_nano + held_nano > bound_nano) report('I4', subject, `${spent_nano} and ${held_nano} of ${bound_nano}`)
  }
}

/** The cap behind the mark of a receipt: `day` is one of its key, `team:3:month` is not. */
export const subjectOf = ({ key }, mark) => (mark.includes(':') ? `cap:${mark}` : `cap:${key}:${mark}`)

/** What a receipt holds of a cap while it is open, and has used of it since: nano-dollars, requests or tokens. */
export function useOf(receipt, mark) {
  const { state, hold_nano, charge_nano, input_estimate, output_bound } = receipt
  const isSettled = state === 'settled'
  if (/requests_day$|^run:\d+:requests$/.test(mark)) return { held: 1n, spent: isSettled ? 1n : 0n }
  if (!mark.endsWith('tokens_day')) return { held: hold_nano, spent: isSettled ? charge_nano : 0n }
  const held = BigInt(input_estimate + output_bound)
  if (!isSettled) return { held, spent: 0n }
  const used = BigInt(receipt.uncached_input + receipt.cached_input + receipt.cache_write + receipt.output)
  return { held, spent: used < held ? used : held }
}

function auditDraws(draws, report) {
  const ids = new Set()
  for (const { receipt, on } of draws) {
    const { request_id, kind, account, state, charge_nano } = receipt
    if (ids.has(request_id)) report('I5', request_id, 'has two receipts')
    ids.add(request_id)
    if (state !== 'settled' && (charge_nano ?? 0n) !== 0n)
      report('I5', request_id, `is ${state} and cost ${charge_nano}`)
    for (const bucket of on) {
      if (!DRAWN_ON[kind].has(bucket.kind)) report('I11', request_id, `of a ${kind} key draws on a ${bucket.kind}`)
      if (bucket.account !== account) report('I11', request_id, `draws on the ${bucket.kind} of another account`)
    }
    if (new Set(on.map(({ row }) => row)).size !== on.length) report('I5', request_id, 'draws twice on the same bucket')
  }
}

/** The product's own account of the same charges must say the same. */
function auditUsageEntries({ usageEntries, buckets }, draws, report) {
  const units = new Map(buckets.map(({ row, unit }) => [row, unit]))
  const emitted = new Map()
  const sums = new Map()
  for (const { receipt, bucket, delta_nano } of usageEntries) {
    add(sums, `use of receipt ${receipt}, ${units.get(bucket)}`, delta_nano)
    if (Object.values(USED).includes(bucket)) continue
    const which = `${receipt} ${bucket}`
    if (emitted.has(which)) report('I5', `receipt ${receipt}`, `is charged twice on bucket ${bucket}`)
    emitted.set(which, delta_nano)
  }
  for (const [which, sum] of sums) if (sum !== 0n) report('I1', which, `its entries sum to ${sum}`)
  for (const { receipt, on } of draws) {
    for (const { row } of on) {
      const delta = emitted.get(`${receipt.row} ${row}`)
      const expected = receipt.state === 'settled' ? -receipt.charge_nano : undefined
      if (delta !== expected) report('I5', receipt.request_id, `is ${receipt.state}, its entry is ${delta}`)
    }
  }
}

/** The same once more in the operator's words: a wallet is its credits less its charges, and a builder's is never touched. */
function auditWallets({ accounts, buckets, receipts, transfers }, report, prepared) {
  for (const { row, email } of accounts) {
    const expected = prepared.find((account) => account.email === email)
    if (!expected) continue
    const own = transfers.filter(({ account, unit }) => account === row && unit === 'usd')
    const wallet = buckets.find(({ account, kind }) => account === row && kind === 'wallet')
    const credited = own.reduce((sum, { amount_nano }) => sum + amount_nano, 0n)
    const charged = receipts.reduce(
      (sum, { account, kind, charge_nano }) => (account === row && kind === 'wallet' ? sum + (charge_nano ?? 0n) : sum),
      0n,
    )
    if (wallet.posted_nano !== credited - charged) {
      report('I2', email, `has ${wallet.posted_nano}, was credited ${credited} and charged ${charged}`)
    }
    const { credit, kind } = expected
    const first = own.filter(({ ref }) => ref === 'first')
    if (first.length !== 1 || first[0].amount_nano !== nanoOf(credit))
      report('I2', email, 'its first credit is not in the books')
    if (kind === 'builder' && wallet.posted_nano !== nanoOf(credit))
      report('I11', email, `a builder's wallet went from ${credit} to ${wallet.posted_nano}`)
  }
}

export function auditRest({ buckets, spend_counters: counters, receipts }, report) {
  const open = receipts.filter(({ state }) => state === 'open').length
  if (open > 0) report('I6', 'receipts', `${open} are open`)
  for (const { subject, held_nano } of [...buckets, ...counters])
    if (held_nano !== 0n) report('I6', subject, `${held_nano} are held`)
}

/** Every credit that was acknowledged, or tried until it was, is in the books once. */
export function auditCredits({ transfers }, credits) {
  return credits.flatMap(({ ref, amount }) => {
    const found = transfers.filter((transfer) => transfer.ref === ref)
    if (found.length === 1 && found[0].amount_nano === nanoOf(amount)) return []
    return [{ invariant: 'I2', id: ref, says: `a credit of ${amount} is in the books ${found.length} times` }]
  })
}
