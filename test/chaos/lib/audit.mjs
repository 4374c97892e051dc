import { auditKeys } from './audit-keys.mjs'
import { auditRest, auditRows } from './audit-rows.mjs'
import { auditNote, auditReceipt } from './audit-turn.mjs'

/** Every invariant by name: the closing lines count them, and a mutant says which of them caught it. */
export const INVARIANTS = {
  I1: 'the entries of a transfer sum to zero in each unit',
  I2: 'a balance is its entries, and a wallet its credits less its charges',
  I3: 'what is held is the sum of the open holds',
  I4: 'nothing is overdrawn: no wallet, no window, no spend cap',
  I5: 'one charge a request, and none where the hold was released',
  I6: 'at rest nothing is open and nothing is held',
  I7: 'a completion that was seen is charged once, exactly as priced, and as told',
  I8: 'content without a completion is charged once: whole, or after a kill to within one interval',
  I9: 'a refusal costs nothing',
  I10: 'an idempotency key is charged once, its answers have the same bytes, and none that was paid for is lost',
  I11: 'dollars, allowances and caps never meet',
  priced: 'every receipt costs what its tokens cost',
  shortfall: 'nothing could not be collected',
  owned: 'every receipt belongs to one request that was sent',
  answers: 'nothing failed but by a kill, a hang-up, a fault or a refusal that was meant',
  verify: 'db verify finds nothing',
}

/**
 * Holds what the clients have seen against what the books say. `slackMs` is what one mark may be late by: a busy event
 * loop and the commit itself.
 */
export function audit({ notes, kills, pauses, ledgerRows, verify, intervalMs, slackMs, prepared }) {
  const violations = []
  const figures = createFigures()
  const report = (invariant, id, says) => violations.push({ invariant, id, says })
  const receipts = new Map(ledgerRows.receipts.map((receipt) => [receipt.request_id, receipt]))
  const facts = { kills, pauses, figures, recordedAt: recordsOf(ledgerRows, notes), marks: { intervalMs, slackMs } }

  for (const note of notes) {
    auditNote(
      facts,
      note,
      (id) => receipts.get(id),
      (invariant, says) => report(invariant, note.id, says),
    )
  }
  for (const receipt of ledgerRows.receipts) {
    auditReceipt(figures, receipt, (invariant, says) => report(invariant, receipt.request_id, says))
  }
  auditOwners(notes, ledgerRows, report)
  auditKeys({ notes, ledgerRows, receipts, figures }, report)
  auditRows(ledgerRows, report, prepared)
  auditRest(ledgerRows, report)
  for (const { name, violations: rows } of verify.checks) {
    if (rows > 0) report('verify', 'db', `${name}: ${rows}`)
  }
  return { violations, figures }
}

/** When each node (or the only server) recorded something that recovery did not write, oldest first. */
function recordsOf({ receipts }, notes) {
  const nodeOf = new Map(notes.map(({ id, node }) => [id, node]))
  const records = new Map()
  for (const { request_id, opened_at, closed_at, outcome } of receipts) {
    const node = nodeOf.get(request_id)
    if (!records.has(node)) records.set(node, [])
    records.get(node).push(opened_at)
    if (outcome !== 'recovered') records.get(node).push(closed_at)
  }
  for (const times of records.values()) times.sort((a, b) => a - b)
  return records
}

/** Books as a kill has left them: requests are open, and everything has to add up all the same. */
export function auditWreck(ledgerRows, prepared) {
  const violations = []
  auditRows(
    ledgerRows,
    (invariant, id, says) => violations.push({ invariant, id, says: `after a kill: ${says}` }),
    prepared,
  )
  return violations
}

const createFigures = () => ({
  requests: 0,
  completed: 0,
  partial: 0,
  aborted: 0,
  broken: 0,
  failedInside: 0,
  denied: {},
  keys: 0,
  replays: 0,
  reused: 0,
  recoveredFree: 0,
  recoveredCharged: 0,
  /** Of whole answers by the provider's count, of others by bytes: as they are charged. */
  deliveredTokens: 0,
  chargedTokens: 0,
  estimated: 0,
  settled: 0,
  shortfallNano: 0n,
  /** After a kill: tokens that were seen and not charged, and how long before the kill the first of them was seen. */
  under: [],
  forgivenMs: [],
  /** How long before the kill the last row was recorded. */
  stallMs: [],
  /** After a hang-up of ours. */
  underAborted: [],
  over: [],
})

/** Ids are never given twice, and a receipt without a note belongs to a request whose head never came. */
export function auditOwners(notes, ledgerRows, report) {
  const emails = new Map(ledgerRows.accounts.map(({ row, email }) => [row, email]))
  const seen = new Set()
  const headless = new Map()
  for (const { id, sendTurn } of notes) {
    if (id !== undefined && seen.has(id)) report('owned', id, 'two answers carry this id')
    if (id !== undefined) seen.add(id)
    else count(headless, `${sendTurn.account} ${sendTurn.model}`, 1)
  }
  for (const { request_id, account, model } of ledgerRows.receipts) {
    if (!seen.has(request_id)) count(headless, `${emails.get(account)} ${model}`, -1)
  }
  for (const [whose, left] of headless) {
    if (left < 0) report('owned', whose, `${-left} receipts more than requests that were sent`)
  }
}

const count = (counts, name, by) => counts.set(name, (counts.get(name) ?? 0) + by)
