import { faultSeen, textOf, wordsOf } from './plan-request.mjs'
import { costOf, estimatedInput, nanoOf, reportedUsage, tokensIn } from './price.mjs'

/** Refusals that the load provokes: of money, by kind of key, and of a model that does not exist. None leaves a receipt. */
const MEANT = {
  wallet: [
    ...['insufficient_balance', 'balance_in_flight', 'model_not_found', 'key_spend_cap_reached'],
    ...['person_spend_cap_reached', 'team_budget_reached', 'quota_reached', 'quota_in_flight'],
    // More than the whole quota of a day.
    'request_exceeds_allowance',
    'run_budget_exceeded',
  ],
  // The plan changes, or is ended for a moment, while requests are on their way.
  builder: [
    'allowance_exhausted',
    'balance_in_flight',
    'model_not_found',
    'request_exceeds_allowance',
    'subscription_inactive',
    'ledger_unavailable',
    ...['run_budget_exceeded', 'quota_in_flight'],
  ],
}
const MEANT_OF_KEYS = ['idempotency_in_progress', 'idempotency_not_replayable', 'idempotency_key_reused']
const MEANT_OF_FAULTS = ['server_is_overloaded', 'upstream_busy', 'upstream_timeout']
const MEANT_OF_CLUSTERS = ['ledger_unavailable']
const CUT_SHORT = new Set(['client_gone', 'upstream_failed', 'ledger_unavailable'])
const MEANT_INSIDE = ['upstream_error', 'upstream_timeout']

/**
 * Where the disk took longer than all slack, the rows say so: nothing at all was recorded in that time. Then a mark may be
 * older by just that, and by what its timer is late.
 */
const LATE_TIMER_MS = 150

/** One request as its client saw it, against its receipt; one that was given again, against that of the first. */
export function auditNote(facts, note, receiptOf, report) {
  const { figures } = facts
  figures.requests += 1
  if (note.ended === 'aborted') figures.aborted += 1
  if (note.ended === 'broken') figures.broken += 1
  if (!textOf(note.sendTurn).startsWith(note.text)) report('answers', 'the words are not those of the answer')

  if (note.status >= 400) return auditRefusal(figures, note, receiptOf(note.id), report)
  if (note.replayed && receiptOf(note.id)) report('I10', 'was given again, and has a receipt of its own')
  if (!note.replayed) figures.deliveredTokens += countWords(note.text)
  const receipt = receiptOf(note.original)
  if (note.ended === 'failed') return auditFailed(facts, note, receipt, report)
  if (isEndSeen(note)) return auditCompletion(figures, note, receipt, report)
  if (note.text === '') return
  // What one is charged for whose answer was cut is the first one's matter; here it only has to be charged.
  if (!note.replayed) return auditPartial(facts, note, receipt, report)
  if (receipt?.state !== 'settled') report('I8', 'was given again, and never charged')
}

/** `[DONE]`, the usage chunk, or the head of a JSON answer: none of them may leave before the charge is durable. */
const isEndSeen = (note) =>
  note.done || note.reported !== undefined || (note.sendTurn.delivery === 'json' && note.status === 200)

const countWords = (text) => (text === '' ? 0 : text.split(' ').length)

function auditRefusal(figures, note, receipt, report) {
  const { sendTurn, status, code } = note
  const emitted = `${status} ${code ?? 'unread'}`
  figures.denied[emitted] = (figures.denied[emitted] ?? 0) + 1
  const isMoney = MEANT[sendTurn.kind].includes(code) || (sendTurn.once !== undefined && MEANT_OF_KEYS.includes(code))
  const isFault = faultSeen(sendTurn) === 'before' && MEANT_OF_FAULTS.includes(code)
  // With PostgreSQL away, or a node that stood still.
  if (note.kills !== undefined && MEANT_OF_CLUSTERS.includes(code)) return auditCutRefusal(note, receipt, report)
  if (!isMoney && !isFault && note.ended === 'refused') report('answers', emitted)
  if (receipt?.charge_nano > 0n) report('I9', `${status} cost ${receipt.charge_nano}`)
  if (receipt && isMoney) report('I9', `${code} left a receipt`)
}

/**
 * The node could not say how its request ended. A charge may be in the books all the same, of the whole answer or of what was
 * produced of it.
 */
function auditCutRefusal({ sendTurn }, receipt, report) {
  if (!receipt || receipt.charge_nano === 0n) return
  const whole = costOf(sendTurn.model, reportedUsage(sendTurn))
  if (receipt.outcome === 'completed' && receipt.charge_nano !== whole)
    report('I9', `was cut off and cost ${receipt.charge_nano}, the whole answer costs ${whole}`)
}

/** The node of this request stood still or lost its database meanwhile: every side may have ended it. */
function auditCut(figures, note, receipt, report) {
  const { seen, charged } = compareEstimate(figures, note, receipt, report)
  if (charged < leastNear(seen)) report('I8', `was cut off after ${seen} tokens, was charged ${charged}`)
}

/** The provider broke off after content: what was received is charged, as well as its lane's tokens are known, and nothing else. */
function auditFailed(facts, note, receipt, report) {
  const { figures } = facts
  const { sendTurn, code } = note
  if (note.interrupted && receipt) {
    if (receipt.outcome === 'recovered') return auditRecovered(facts, note, receipt, report)
    return auditCut(figures, note, receipt, report)
  }
  figures.failedInside += 1
  if (faultSeen(sendTurn) !== 'inside' || !MEANT_INSIDE.includes(code))
    report('answers', `the stream failed with ${code}`)
  if (countWords(note.text) !== sendTurn.fault?.at) report('answers', `broke off after ${countWords(note.text)} words`)
  if (!receipt) return report('I8', 'broke off after content, and has no receipt')
  if (receipt.state !== 'settled' || receipt.outcome !== 'upstream_failed')
    return report('I8', `broke off after content, and is ${receipt.state}, ${receipt.outcome}`)
  const { seen, charged } = compareEstimate(figures, note, receipt, report)
  if (!isNear(charged, seen)) report('I8', `broke off after ${seen} tokens, was charged ${charged}`)
}

function auditCompletion(figures, note, receipt, report) {
  const { sendTurn, reported } = note
  if (!note.replayed) figures.completed += 1
  const usage = reportedUsage(sendTurn)
  const cost = costOf(sendTurn.model, usage)
  if (faultSeen(sendTurn) !== 'no') report('answers', `is whole in spite of ${sendTurn.fault.name}`)
  if (note.done && note.text !== textOf(sendTurn)) report('answers', 'the end came before the last word')
  if (note.done && !reported) report('I7', 'was told no usage')
  if (reported && (reported.prompt_tokens !== usage.input || reported.completion_tokens !== usage.output)) {
    report(
      'I7',
      `was told ${reported.prompt_tokens} + ${reported.completion_tokens}, used ${usage.input} + ${usage.output}`,
    )
  }
  if (reported && nanoOf(reported.millrace.charge) !== cost) {
    report('I7', `was told a charge of ${reported.millrace.charge}, the price is ${cost} nano`)
  }
  if (!receipt) return report('I7', 'has no receipt')
  const { state, outcome, charge_nano } = receipt
  if (state !== 'settled' || outcome !== 'completed') return report('I7', `is ${state}, ${outcome}`)
  if (charge_nano !== cost) report('I7', `was charged ${charge_nano}, the price is ${cost}`)
}

function auditPartial(facts, note, receipt, report) {
  facts.figures.partial += 1
  if (!receipt) return report('I8', 'has content and no receipt')
  if (note.interrupted && CUT_SHORT.has(receipt.outcome)) return auditCut(facts.figures, note, receipt, report)
  switch (receipt.outcome) {
    case 'completed':
      return auditUnseenEnd(facts, note, receipt, report)
    case 'client_gone':
      return auditHangUp(facts, note, receipt, report)
    case 'upstream_failed':
      return auditUnseenFailure(facts, note, receipt, report)
    case 'recovered':
      return auditRecovered(facts, note, receipt, report)
    default:
      return report('I8', `has content and is ${receipt.state}, ${receipt.outcome}`)
  }
}

/** The charge was durable, but its end did not come through. */
function auditUnseenEnd({ figures }, note, receipt, report) {
  const usage = reportedUsage(note.sendTurn)
  if (receipt.charge_nano !== costOf(note.sendTurn.model, usage))
    report('I8', `completed, but charged ${receipt.charge_nano}`)
  figures.over.push(usage.output - countWords(note.text))
}

function auditUnseenFailure({ figures }, note, receipt, report) {
  if (faultSeen(note.sendTurn) !== 'inside') report('answers', 'is upstream_failed, and nothing was to fail')
  const { seen, charged } = compareEstimate(figures, note, receipt, report)
  if (charged < leastNear(seen)) report('I8', `saw ${seen} tokens before the provider failed, was charged ${charged}`)
}

function auditHangUp({ figures }, note, receipt, report) {
  if (note.ended !== 'aborted') report('I8', 'is client_gone, but its client stayed')
  if (note.sendTurn.once !== undefined) report('I10', 'was stopped by its client in spite of its Idempotency-Key')
  const { seen, charged } = compareEstimate(figures, note, receipt, report)
  figures.underAborted.push(Math.max(0, seen - charged))
  if (charged < leastNear(seen)) report('I8', `hung up after ${seen} tokens, was charged ${charged}`)
}

function auditRecovered({ kills, pauses, figures, recordedAt, marks }, note, receipt, report) {
  // With several nodes, of the one that was asked.
  const killedAt = (note.kills ?? kills).find((at) => at >= receipt.opened_at)
  if (killedAt === undefined || killedAt > receipt.closed_at) return report('I8', 'was recovered without a kill')
  const { seen, charged } = compareRecovered(figures, note, receipt, report)
  figures.under.push(Math.max(0, seen - charged))
  const forgiven = note.arrivals.find(({ bytes }) => tokensIn(bytes) > charged)
  if (!forgiven) return
  const ageMs = killedAt - forgiven.at - pausedBetween(pauses, forgiven.at, killedAt)
  figures.forgivenMs.push(ageMs)
  const lastRecord = recordedAt.get(note.node).findLast((at) => at <= killedAt)
  const stallMs = killedAt - lastRecord - pausedBetween(pauses, lastRecord, killedAt)
  figures.stallMs.push(stallMs)
  if (ageMs > marks.intervalMs + Math.max(marks.slackMs, stallMs + LATE_TIMER_MS)) {
    report('I8', `saw ${seen} tokens, was charged ${charged}: uncharged ones came ${ageMs} ms before the kill`)
  }
}

/** A server that stands still delivers nothing and records nothing. */
const pausedBetween = (pauses, from, to) =>
  pauses.reduce((sum, pause) => sum + Math.max(0, Math.min(pause.to, to) - Math.max(pause.from, from)), 0)

/**
 * What a lane's tokens are is learned from its whole answers: an estimate is between what the catalogue says and what the
 * provider counts, as nearly as few short answers can tell. The provider counts a word as a token.
 */
const NEAR = 0.25
const NEAR_TOKENS = 3

const leastNear = (tokens) => tokens * (1 - NEAR) - NEAR_TOKENS
const mostNear = (tokens) => tokens * (1 + NEAR) + NEAR_TOKENS
const isNear = (charged, tokens) => charged >= leastNear(tokens) && charged <= mostNear(tokens)

function compareEstimate(figures, { sendTurn, text }, receipt, report) {
  const seen = countWords(text)
  const charged = receipt.state === 'settled' ? receipt.output : 0
  const input = [estimatedInput(sendTurn), reportedUsage(sendTurn).input]
  if (
    receipt.state === 'settled' &&
    (receipt.uncached_input < leastNear(Math.min(...input)) || receipt.uncached_input > mostNear(Math.max(...input)))
  ) {
    report('I8', `was charged ${receipt.uncached_input} of input, it is ${input[1]}, and ${input[0]} by its bytes`)
  }
  if (charged > mostNear(wordsOf(sendTurn)))
    report('I8', `was charged ${charged} tokens of an answer of ${wordsOf(sendTurn)}`)
  figures.over.push(Math.max(0, charged - seen))
  return { seen, charged }
}

/** What was learned of a lane died with its process: a recovered turn is counted by bytes, on both sides, to the token. */
function compareRecovered(figures, { sendTurn, text }, receipt, report) {
  const seen = tokensIn(Buffer.byteLength(text))
  const charged = receipt.state === 'settled' ? receipt.output : 0
  if (receipt.state === 'settled' && receipt.uncached_input !== estimatedInput(sendTurn)) {
    report('I8', `was charged ${receipt.uncached_input} of input, the estimate is ${estimatedInput(sendTurn)}`)
  }
  const most = tokensIn(Buffer.byteLength(textOf(sendTurn)))
  if (charged > most) report('I8', `was charged ${charged} tokens of an answer of ${most}`)
  figures.over.push(Math.max(0, charged - seen))
  return { seen, charged }
}

/** One receipt by itself, whether anybody saw its answer or not. */
export function auditReceipt(figures, receipt, report) {
  const { state, outcome, model, charge_nano, shortfall_nano } = receipt
  if (state === 'open') return
  if (outcome === 'recovered') figures[state === 'settled' ? 'recoveredCharged' : 'recoveredFree'] += 1
  if (state === 'released') {
    if (charge_nano !== 0n) report('I5', `was released and cost ${charge_nano}`)
    return
  }
  figures.settled += 1
  figures.estimated += receipt.estimated
  figures.chargedTokens += receipt.output
  figures.shortfallNano += shortfall_nano
  const input = receipt.uncached_input + receipt.cached_input + receipt.cache_write
  const cost = costOf(model, { input, output: receipt.output })
  if (receipt.cost_nano !== cost)
    report('priced', `${input} + ${receipt.output} tokens cost ${receipt.cost_nano}, not ${cost}`)
  if (charge_nano !== cost) report('priced', `was charged ${charge_nano} of ${cost}`)
  if (shortfall_nano !== 0n) report('shortfall', `${shortfall_nano} could not be collected`)
}
