import { costOf, estimatedInput, nanoOf, reportedUsage, tokensIn } from './price.mjs'
import { textOf, wordsOf } from './scene.mjs'

/** Refusals that the load provokes: an empty wallet, a wallet whose rest is held, a model that does not exist. */
const MEANT = new Set(['insufficient_balance', 'balance_in_flight', 'model_not_found'])

/** One request as its client saw it, against its receipt. */
export function auditNote(facts, note, receipt, report) {
  const { figures } = facts
  figures.requests += 1
  figures.deliveredTokens += countWords(note.text)
  if (note.ended === 'aborted') figures.aborted += 1
  if (note.ended === 'broken') figures.broken += 1
  if (!textOf(note.ask).startsWith(note.text)) report('answers', 'the words are not those of the answer')

  if (note.status >= 400) return auditRefusal(figures, note, receipt, report)
  if (note.ended === 'failed') report('answers', `the stream failed with ${note.code}`)
  if (isEndSeen(note)) return auditCompletion(figures, note, receipt, report)
  if (note.text !== '') return auditPartial(facts, note, receipt, report)
}

/** `[DONE]`, the usage chunk, or the head of a JSON answer: none of them may leave before the charge is durable. */
const isEndSeen = (note) =>
  note.done || note.told !== undefined || (note.ask.delivery === 'json' && note.status === 200)

const countWords = (text) => (text === '' ? 0 : text.split(' ').length)

function auditRefusal(figures, note, receipt, report) {
  figures.denied[note.status] = (figures.denied[note.status] ?? 0) + 1
  if (!MEANT.has(note.code) && note.ended === 'refused') report('answers', `${note.status} ${note.code}`)
  if (receipt?.charge_nano > 0n) report('I9', `${note.status} cost ${receipt.charge_nano}`)
  if (receipt && MEANT.has(note.code)) report('I9', `${note.code} left a receipt`)
}

function auditCompletion(figures, note, receipt, report) {
  figures.completed += 1
  const { ask, told } = note
  const usage = reportedUsage(ask)
  const cost = costOf(ask.model, usage)
  if (note.done && note.text !== textOf(ask)) report('answers', 'the end came before the last word')
  if (note.done && !told) report('I7', 'was told no usage')
  if (told && (told.prompt_tokens !== usage.input || told.completion_tokens !== usage.output)) {
    report('I7', `was told ${told.prompt_tokens} + ${told.completion_tokens}, used ${usage.input} + ${usage.output}`)
  }
  if (told && nanoOf(told.millrace.charge) !== cost) {
    report('I7', `was told a charge of ${told.millrace.charge}, the price is ${cost} nano`)
  }
  if (!receipt) return report('I7', 'has no receipt')
  const { state, outcome, charge_nano } = receipt
  if (state !== 'settled' || outcome !== 'completed') return report('I7', `is ${state}, ${outcome}`)
  if (charge_nano !== cost) report('I7', `was charged ${charge_nano}, the price is ${cost}`)
}

function auditPartial(facts, note, receipt, report) {
  facts.figures.partial += 1
  if (!receipt) return report('I8', 'has content and no receipt')
  switch (receipt.outcome) {
    case 'completed':
      return auditUnseenEnd(facts, note, receipt, report)
    case 'client_gone':
      return auditHangUp(facts, note, receipt, report)
    case 'recovered':
      return auditRecovered(facts, note, receipt, report)
    default:
      return report('I8', `has content and is ${receipt.state}, ${receipt.outcome}`)
  }
}

/** The charge was durable, but its end did not come through. */
function auditUnseenEnd({ figures }, note, receipt, report) {
  const usage = reportedUsage(note.ask)
  if (receipt.charge_nano !== costOf(note.ask.model, usage))
    report('I8', `completed, but charged ${receipt.charge_nano}`)
  figures.over.push(usage.output - countWords(note.text))
}

function auditHangUp({ figures }, note, receipt, report) {
  if (note.ended !== 'aborted') report('I8', 'is client_gone, but its client stayed')
  const { seen, charged } = compare(figures, note, receipt, report)
  figures.underAborted.push(Math.max(0, seen - charged))
  if (charged < seen) report('I8', `hung up after ${seen} tokens, was charged ${charged}`)
}

function auditRecovered({ kills, figures, forgivenMsMax }, note, receipt, report) {
  const killedAt = kills.find((at) => at >= receipt.opened_at)
  if (killedAt === undefined || killedAt > receipt.closed_at) return report('I8', 'was recovered without a kill')
  const { seen, charged } = compare(figures, note, receipt, report)
  figures.under.push(Math.max(0, seen - charged))
  const forgiven = note.arrivals.find(({ bytes }) => tokensIn(bytes) > charged)
  if (!forgiven) return
  const ageMs = killedAt - forgiven.at
  figures.forgivenMs.push(ageMs)
  if (ageMs > forgivenMsMax) {
    report('I8', `saw ${seen} tokens, was charged ${charged}: uncharged ones came ${ageMs} ms before the kill`)
  }
}

/** Estimated turns are counted by bytes on both sides; a charge is never above what the whole answer would have been. */
function compare(figures, { ask, text }, receipt, report) {
  const seen = tokensIn(Buffer.byteLength(text))
  const charged = receipt.state === 'settled' ? receipt.output : 0
  if (receipt.state === 'settled' && receipt.uncached_input !== estimatedInput(ask)) {
    report('I8', `was charged ${receipt.uncached_input} of input, the estimate is ${estimatedInput(ask)}`)
  }
  const most = Math.max(wordsOf(ask), tokensIn(Buffer.byteLength(textOf(ask))))
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
    if (charge_nano !== 0n) report('priced', `was released and cost ${charge_nano}`)
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
  if (shortfall_nano !== 0n) report('priced', `${shortfall_nano} could not be collected`)
}
