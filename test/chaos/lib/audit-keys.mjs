import { KEYED_NAME } from './prepare-scene.mjs'

/**
 * One charge at most for each Idempotency-Key, the same bytes for everybody who asks with it, and no answer that was paid
 * for gets lost: not even where the process died between keeping it and charging for it.
 */
export function auditKeys({ notes, ledgerRows, receipts, figures }, report) {
  const byKey = new Map()
  for (const note of notes) {
    const { once, isOther } = note.sendTurn
    if (once === undefined) continue
    if (isOther) auditOther(figures, note, report)
    else byKey.set(once, [...(byKey.get(once) ?? []), note])
  }
  figures.keys = byKey.size
  for (const receivedRequest of byKey.values()) auditAsked(figures, receivedRequest, receipts, report)
  auditClaims(ledgerRows, byKey.size, report)
}

/** Only sent after the first answer was there: it must find the key taken. */
function auditOther(figures, { id, status, code, ended, kills }, report) {
  if (ended === 'broken' || (kills !== undefined && code === 'ledger_unavailable')) return
  if (status === 422 && code === 'idempotency_key_reused') figures.reused += 1
  else report('I10', id, `another body was told ${status} ${code ?? ended}`)
}

const PASSING_OF_CLUSTERS = new Set(['ledger_unavailable', 'idempotency_in_progress'])

/** All that was asked with one key, in the order in which its one client asked. */
function auditAsked(figures, receivedRequest, receipts, report) {
  const { id } = receivedRequest.find((note) => note.id !== undefined) ?? {}
  const own = receivedRequest.filter(({ replayed }) => !replayed)
  const charged = own.filter((note) => receipts.get(note.id)?.charge_nano > 0n)
  if (charged.length > 1) report('I10', id, `its key was charged ${charged.length} times`)

  const first = receivedRequest.findIndex(isWhole)
  figures.replays += receivedRequest.filter(({ replayed }) => replayed).length
  if (first === -1) return
  const whole = receivedRequest[first]
  for (const note of receivedRequest) {
    if (note.raw === '' || note.status !== 200 || note.original !== whole.original) continue
    if (isWhole(note) ? note.raw !== whole.raw : !whole.raw.startsWith(note.raw))
      report('I10', id, `${note.id} has other bytes than ${whole.id}`)
  }
  for (const note of receivedRequest.slice(first + 1)) {
    if (note.original !== whole.original && isWhole(note))
      report('I10', id, `${note.id} is the answer of another request`)
    if (receipts.has(note.id)) report('I10', id, `${note.id} ran again after a whole answer`)
    // Of a cluster: the end of the first is on its way in a journal.
    const isPassing = note.kills !== undefined && PASSING_OF_CLUSTERS.has(note.code)
    if (note.ended === 'refused' && !isPassing)
      report('I10', whole.original, `was told ${note.code} after a whole answer`)
  }
}

/** A stream that ended with its provider's failure is said to its end, too. */
const isWhole = ({ ended, status }) => status === 200 && (ended === 'done' || ended === 'failed')

function auditClaims({ keys, claims, receipts, answers }, receivedRequest, report) {
  const keyed = new Set(keys.filter(({ name }) => name === KEYED_NAME).map(({ row }) => row))
  const settled = new Map(receipts.filter(({ state }) => state === 'settled').map((receipt) => [receipt.row, receipt]))
  const claimOf = new Map(claims.map((claim) => [claim.receipt, claim]))
  const kept = new Set(answers.map(({ request_id }) => request_id))
  for (const { receipt, state } of claims) {
    const owner = settled.get(receipt)
    if (state === 'running' || !owner) report('I10', `receipt ${receipt}`, `holds a key, ${state}, without a charge`)
    if (owner && !keyed.has(owner.key)) report('I10', owner.request_id, 'holds a key and came without one')
  }
  for (const { row, key, request_id, outcome } of settled.values()) {
    if (!keyed.has(key)) continue
    const claim = claimOf.get(row)
    if (!claim) report('I10', request_id, 'was charged, and its key is not remembered')
    else if (kept.has(request_id) !== (claim.state === 'kept')) {
      report(
        'I10',
        request_id,
        `its answer is ${kept.has(request_id) ? '' : 'not '}there, and its key is ${claim.state}`,
      )
    } else if (claim.state === 'not-kept' && outcome !== 'recovered') {
      report('I10', request_id, `is ${outcome}, and its answer is not kept`)
    }
  }
  if (claims.length > receivedRequest) report('I10', 'claims', `${claims.length} for ${receivedRequest} keys`)
}
