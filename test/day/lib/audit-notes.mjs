import { auditOwners } from '../../chaos/lib/audit.mjs'
import { costAt, nanoOf, tokensIn } from '../../chaos/lib/price.mjs'

/** What each actor may be told on a day without disturbances. */
const MEANT = {
  agents: ['run_budget_exceeded', 'balance_in_flight'],
  batch: ['idempotency_in_progress', 'idempotency_key_reused', 'idempotency_not_replayable'],
  small: ['allowance_exhausted', 'balance_in_flight', 'request_exceeds_allowance'],
  strangers: ['rate_limit_exceeded', 'key_spend_cap_reached', 'balance_in_flight', 'request_exceeds_allowance'],
}
/** What all may be told while something is wrong, and for how long after. */
const OF_DISTURBANCES = {
  brown: {
    codes: ['server_is_overloaded', 'upstream_busy', 'upstream_timeout', 'upstream_error', 'no_lane_available'],
    afterMs: 6000,
  },
  node: { codes: ['ledger_unavailable'], afterMs: 20_000 },
  drain: { codes: ['server_draining'], afterMs: 1000 },
  database: {
    codes: ['ledger_unavailable', 'internal_error', 'idempotency_in_progress', 'server_is_overloaded'],
    afterMs: 12_000,
  },
}
/** What a key is told that does not work any more: also that its address has tried too often (docs/operate/limits.md). */
const GONE = 'invalid_api_key'
const isGoneCode = ({ code, error }) =>
  code === GONE || (code === 'rate_limit_exceeded' && /^This address /.test(error?.message))
/** Until other nodes know of a change (docs/operate/postgres.md), and the clocks of client and ledger. */
const KNOWN_MS = 2000
const CLOCK_MS = 50
/** Outcomes of a request whose client did not see its end. */
const ENDS = {
  aborted: ['client_gone', 'completed', 'upstream_failed'],
  failed: ['upstream_failed', 'ledger_unavailable', 'recovered', 'internal_error'],
  broken: ['recovered', 'completed', 'client_gone', 'ledger_unavailable', 'drained', 'upstream_failed'],
}

/** Every request as its client saw it against its receipt, and every receipt against its price. */
export function auditNotes({ notes, rows, scene, moments, disturbances, receipts, isCluster }, report) {
  const figures = {
    requests: notes.length,
    done: 0,
    replayed: 0,
    refused: {},
    ends: {},
    told: 0n,
    retry: 0,
    prices: {},
    versions: new Set(),
  }
  const priceOf = readPrices(scene, rows)
  const facts = { moments, disturbances, figures, receipts, isCluster, priceOf }
  for (const note of notes) {
    figures.ends[note.ended] = (figures.ends[note.ended] ?? 0) + 1
    auditNote(facts, note, (invariant, says) => report(invariant, note.id, `${note.sendTurn.actor}: ${says}`))
  }
  for (const receipt of rows.receipts) auditPrice(priceOf, receipt, figures, report)
  auditOwners(notes, rows, report)
  return figures
}

/** Which of the prices that the operator made a version is: nodes that learn of a change at different moments may record one again. */
function readPrices({ prices }, rows) {
  const made = new Map()
  for (const { model, version, terms } of rows.prices) {
    const { input, output, per_request: perRequest } = JSON.parse(terms)
    const isSame = (price) =>
      nanoOf(price.input) === BigInt(input) * 1000n &&
      nanoOf(price.output) === BigInt(output) * 1000n &&
      nanoOf(price.per_request) === BigInt(perRequest)
    const index = prices[model].findIndex(isSame)
    made.set(`${model} ${version}`, { number: index + 1, price: prices[model][index] })
  }
  return (model, version) => made.get(`${model} ${version}`)
}

function auditNote(facts, note, report) {
  const { figures, receipts } = facts
  const receipt = receipts.get(note.original ?? note.id)
  if (note.status >= 400) return auditRefusal(facts, note, receipts.get(note.id), report)
  if (note.replayed) {
    figures.replayed += 1
    if (receipts.has(note.id)) report('once', 'was given again, and has a receipt of its own')
  }
  if (note.ended === 'done' || note.reported) return auditAnswer(facts, note, receipt, report)
  if (receipt === undefined) {
    if (note.text !== '') report('told', `has ${note.text.length} characters of an answer and no receipt`)
    return
  }
  if (receipt.state === 'settled' && !ENDS[note.ended].includes(receipt.outcome))
    report('told', `is ${note.ended}, its receipt is ${receipt.outcome}`)
  const isCut = isDisturbed(facts, note, ['node', 'database'])
  if (note.text !== '' && receipt.state !== 'settled' && !isCut)
    report('told', `has an answer that is ${receipt.state}, ${receipt.outcome}`)
  if (note.ended === 'broken' && !isCut) report('answers', 'broke although its node was there')
  if (note.ended === 'failed' && !isCut && !isDisturbed(facts, note, ['brown']))
    report('answers', `failed with ${note.code}`)
}

function auditAnswer({ figures, priceOf, moments }, note, receipt, report) {
  const { reported, text, sendTurn, replayed } = note
  if (!replayed) figures.done += 1
  if (!reported) return report('told', 'ended without a usage')
  const charge = nanoOf(reported.millrace.charge)
  if (receipt === undefined) return report('told', `was told a charge of ${charge}, and has no receipt`)
  const { state, outcome, charge_nano } = receipt
  if (state !== 'settled' || outcome !== 'completed') report('told', `was told its end, and is ${state}, ${outcome}`)
  if (charge_nano !== charge) report('told', `was told ${charge}, its receipt has ${charge_nano}`)
  if (!replayed) figures.told += charge
  const usage = { input: tokensIn(note.inputBytes + 4), output: text === '' ? 0 : text.split(' ').length }
  if (reported.prompt_tokens !== usage.input) report('told', `${reported.prompt_tokens} tokens for ${usage.input}`)
  if (note.ended === 'done' && reported.completion_tokens !== usage.output)
    report('told', `${reported.completion_tokens} tokens for ${usage.output} words`)
  const version = reported.millrace.price_version
  const { number, price } = priceOf(sendTurn.model, version)
  if (price === undefined) return report('priced', `has price ${version}, which was never made`)
  const cost = costAt(price, { input: reported.prompt_tokens, output: reported.completion_tokens })
  if (cost !== charge) report('priced', `was told ${charge}, version ${version} costs ${cost}`)
  if (!replayed) auditVersion(note, number, { metered: moments.datedPrice, talk: moments.filePrice }, report)
}

/** The price is that of the moment at which the request came. */
function auditVersion({ sendTurn, startedAt, endedAt, arrivals }, number, changes, report) {
  const change = changes[sendTurn.model]
  const wanted = new Set([1, 2])
  if (change === undefined || (arrivals[0]?.at ?? endedAt) < change.from - CLOCK_MS) wanted.delete(2)
  if (change !== undefined && startedAt > change.to + CLOCK_MS) wanted.delete(1)
  if (!wanted.has(number))
    report('priced', `has price ${number}, begun ${startedAt - change?.from} ms after the change`)
}

function auditRefusal(facts, note, receipt, report) {
  const { figures, moments, isCluster } = facts
  const { sendTurn, code, status, startedAt, endedAt, retryAfter } = note
  const { actor } = sendTurn
  const told = `${status} ${code}`
  figures.refused[told] = (figures.refused[told] ?? 0) + 1
  if (code === 'ledger_unavailable' && retryAfter !== undefined) figures.retry += 1
  if (code === 'ledger_unavailable' && retryAfter === undefined) report('answers', `${told} without retry-after`)
  const end = { strangers: moments.revokedKey, leaves: moments.removedMember }[actor]
  const isGone = isGoneCode(note) && end !== undefined && endedAt > end.from
  const kinds = Object.keys(OF_DISTURBANCES).filter((kind) => OF_DISTURBANCES[kind].codes.includes(code))
  const isMeant = isGone || MEANT[actor]?.includes(code) || isDisturbed(facts, note, kinds)
  if (!isMeant) report('answers', `${told} at ${startedAt}: ${note.error?.message}`)
  if (receipt === undefined || receipt.charge_nano === 0n) return
  // What ended while the ledger was away may be charged: docs/operate/postgres.md, Outages.
  if (!(isCluster && code === 'ledger_unavailable')) report('refused', `${told} cost ${receipt.charge_nano}`)
}

/** Whether something was wrong while the request ran: with any node, because the ledger and the providers are shared. */
function isDisturbed({ disturbances }, { startedAt, endedAt }, kinds) {
  return disturbances.some(
    ({ kind, from, to }) => kinds.includes(kind) && endedAt >= from && startedAt <= to + OF_DISTURBANCES[kind].afterMs,
  )
}

function auditPrice(priceOf, receipt, figures, report) {
  const {
    model,
    price_version: version,
    request_id: id,
    cost_nano: own,
    charge_nano: charge,
    hold_nano: hold,
  } = receipt
  if (receipt.state !== 'settled') return
  const { number, price } = priceOf(model, version)
  const place = `${model} ${number}`
  figures.prices[place] = (figures.prices[place] ?? 0) + 1
  figures.versions.add(`${model} ${version}`)
  const input = receipt.uncached_input + receipt.cached_input + receipt.cache_write
  const cost = costAt(price, { input: Number(input), output: Number(receipt.output) })
  if (own !== cost) report('priced', id, `costs ${own}, ${input} + ${receipt.output} tokens cost ${cost}`)
  if (charge !== (cost < hold ? cost : hold)) report('priced', id, `is charged ${charge} of ${cost}, held ${hold}`)
  if (receipt.shortfall_nano > 0n) report('priced', id, `has a shortfall of ${receipt.shortfall_nano}`)
}

/** No request with the key is served once all nodes know, and its cap holds on each day. */
export function auditLeak({ notes, rows, moments, accounts, leakCap, isCluster }, tally) {
  const { leaked } = accounts.leaky
  const knownMs = isCluster ? KNOWN_MS : 0
  const own = notes.filter(({ sendTurn }) => sendTurn.keyId === leaked.id)
  const served = own.filter(({ status }) => status === 200).length
  const late = own.filter(({ status, startedAt }) => status === 200 && startedAt > moments.revokedKey.to + knownMs)
  const after = own.filter(({ startedAt, code }) => startedAt > moments.revokedKey.to && code === GONE).length
  const { row } = rows.keys.find(({ id }) => id === leaked.id)
  const days = new Map()
  for (const { key, opened_at: at, charge_nano: charge } of rows.receipts)
    if (key === row) days.set(Math.floor(at / 86_400_000), (days.get(Math.floor(at / 86_400_000)) ?? 0n) + charge)
  const most = [...days.values()].reduce((high, sum) => (sum > high ? sum : high), 0n)
  console.log(
    `leaked key: ${own.length} requests, ${served} served, ${after} refused after it was revoked; at most ${most} nano of ${leakCap} in a day`,
  )
  tally.check(late.length === 0, `the leaked key is not served once it is revoked (${late.length})`)
  tally.check(most <= nanoOf(leakCap), 'the leaked key never exceeds its cap')
  const count = (code) => own.filter((note) => note.code === code).length
  tally.check(served > 0 && after > 0, 'strangers used the leaked key before and after it was revoked')
  tally.check(
    count('key_spend_cap_reached') + count('rate_limit_exceeded') > 0,
    `strangers met its cap (${count('key_spend_cap_reached')}) or its limit (${count('rate_limit_exceeded')})`,
  )
}

export function auditMember({ notes, moments, isCluster }, tally) {
  const own = notes.filter(({ sendTurn }) => sendTurn.actor === 'leaves')
  const knownMs = isCluster ? KNOWN_MS : 0
  const late = own.filter(({ status, startedAt }) => status === 200 && startedAt > moments.removedMember.to + knownMs)
  const [before, after] = [200, 401].map((status) => own.filter((note) => note.status === status).length)
  tally.check(
    late.length === 0 && before > 0 && after > 0,
    `a removed member's key stops (${before}, then ${after} refused)`,
  )
}

/** The small allowance is used up, and there again after midnight. */
export function auditRenewal({ notes, midnight }, tally) {
  const own = notes.filter(({ sendTurn }) => sendTurn.actor === 'small')
  const count = (isIn) => own.filter(isIn).length
  const before = count(({ status, endedAt }) => status === 200 && endedAt < midnight)
  const refused = count(({ code, endedAt }) => code === 'allowance_exhausted' && endedAt < midnight)
  const after = count(({ status, startedAt }) => status === 200 && startedAt > midnight)
  tally.check(
    before > 0 && refused > 0 && after > 0,
    `an allowance is used up and begins again at midnight (${before} served, ${refused} refused, ${after} served)`,
  )
}
