import { bodyOf } from './answer.mjs'
import { subjectOf, useOf } from './audit-rows.mjs'
import { isCount } from './cap-history.mjs'
import { nanoOf } from './price.mjs'
import { MODELS } from './scene.mjs'

/** What is held against the rows, by name. */
export const CAP_INVARIANTS = {
  C1: 'at each admission, what a cap has charged and holds is within the cap in force',
  C2: 'the wallet is never negative, holds included',
  C3: 'a receipt names exactly the caps of its key, its person and its team',
  C4: 'a refusal for a cap or for money tells its figures truly, and nothing covered the request',
}

const DAY_MS = 86_400_000
/** The clocks of clients and ledger, in milliseconds. */
const CLOCK_MS = 20
/** What a kill took with it may have been told to a client before. */
const LOST_MS = 1500

/** When the period of a cap began, in UTC; written out once more, for the audit. */
export function periodStart(name, at) {
  const date = new Date(at)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  if (name === 'total') return 0
  if (name === 'month') return Date.UTC(year, month, 1)
  if (name === 'quarter') return Date.UTC(year, Math.floor(month / 3) * 3, 1)
  if (name === 'week') return Date.UTC(year, month, date.getUTCDate() - ((date.getUTCDay() + 6) % 7))
  return Math.floor(at / DAY_MS) * DAY_MS
}

const nameOfMark = (mark) => mark.split(':').at(-1)

/**
 * Adds up again, from receipts and transfers only, what each cap and the wallet had at each moment. `history` is what the operator
 * made of the caps, and `slackMs` how long an old cap may be used after its change was acknowledged.
 */
export function auditCaps({ ledgerRows, notes, account, slackMs, kills }, report) {
  const { history } = account
  const book = readBook(ledgerRows, account)
  const figures = { periods: 0, capsUsed: 0, reached: new Set(), staleMs: 0, told: 0, untold: 0, admissions: 0 }
  for (const timeline of book.timelines.values()) {
    figures.periods += 1
    auditTimeline(timeline, { history, slackMs, figures }, report)
  }
  figures.capsUsed = new Set([...book.timelines.values()].map(({ subject }) => subject)).size
  auditWallet(book.wallet, report)
  for (const receipt of ledgerRows.receipts)
    if (book.holdersOf.has(receipt.key)) auditMarks(receipt, { book, history, slackMs }, report)
  for (const note of notes) {
    if (note.error === undefined || !(note.code in JUDGES) || isOfPlan(note)) continue
    const isLost = [...kills, ...(note.kills ?? [])].some((at) => at >= note.startedAt && at <= note.endedAt + LOST_MS)
    const wrong = judgeRefusal(note, { book, history, slackMs, figures })
    if (wrong === undefined) figures.told += 1
    else if (isLost) figures.untold += 1
    else report('C4', note.id, `${note.code}: ${wrong}`)
  }
  return { ...figures, reached: figures.reached.size }
}

/** The timelines of all caps in all of their periods, that of the wallet, and whose keys there are. */
function readBook({ receipts, keys, people, teams, accounts, transfers }, { email }) {
  const idOf = {
    person: new Map(people.map(({ row, id }) => [row, id])),
    team: new Map(teams.map(({ row, id }) => [row, id])),
  }
  const { row: accountRow } = accounts.find((each) => each.email === email)
  const holdersOf = new Map()
  const keyRows = new Map()
  for (const { row, id, account, person, team } of keys) {
    if (account !== accountRow) continue
    keyRows.set(id, row)
    holdersOf.set(row, [
      { holder: 'key', id, prefix: '' },
      { holder: 'person', id: idOf.person.get(person), prefix: `person:${person}:` },
      { holder: 'team', id: idOf.team.get(team), prefix: `team:${team}:` },
    ])
  }
  const timelines = new Map()
  const wallet = []
  for (const receipt of receipts) {
    if (receipt.account !== accountRow) continue
    wallet.push(...eventsOf(receipt, { held: receipt.hold_nano, spent: receipt.charge_nano ?? 0n }))
    for (const mark of receipt.caps?.split(' ') ?? []) {
      const name = nameOfMark(mark)
      const subject = subjectOf(receipt, mark)
      const start = periodStart(name, receipt.opened_at)
      const place = `${subject} ${start}`
      if (!timelines.has(place)) {
        const owner = holdersOf.get(receipt.key).find(({ prefix }) => prefix + name === mark)
        timelines.set(place, { ...owner, subject, name, start, events: [] })
      }
      timelines.get(place).events.push(...eventsOf(receipt, useOf(receipt, mark)))
    }
  }
  for (const { account, unit, amount_nano, at } of transfers)
    if (account === accountRow && unit === 'usd') wallet.push({ at, order: -1, spent: -amount_nano, held: 0n })
  for (const timeline of timelines.values()) timeline.states = runThrough(timeline.events)
  return { timelines, wallet: runThrough(wallet), holdersOf, keyRows }
}

/**
 * A hold and its end. Of one millisecond the order is unknown: what has ended in it counts as ended before what begins. `order` is
 * the row of an admission, which says their order.
 */
function eventsOf(receipt, { held, spent }) {
  const { row, opened_at: openedAt, closed_at: closedAt, state } = receipt
  if (state === 'open') return [{ at: openedAt, order: row, spent: 0n, held, receipt, most: held }]
  if (closedAt === openedAt) return [{ at: openedAt, order: row, spent, held: 0n, receipt, most: held }]
  return [
    { at: openedAt, order: row, spent: 0n, held, receipt, most: held },
    { at: closedAt, order: 0, spent, held: -held },
  ]
}

/** The sums after each event. Those of an admission count its whole hold. */
function runThrough(events) {
  events.sort((one, other) => one.at - other.at || one.order - other.order)
  let [spent, held] = [0n, 0n]
  return events.map((event) => {
    const before = spent + held
    spent += event.spent
    held += event.held
    return { at: event.at, spent, held, receipt: event.receipt, asked: event.receipt && before + event.most }
  })
}

function auditTimeline({ holder, id, name, subject, states }, { history, slackMs, figures }, report) {
  for (const { at, asked, receipt } of states) {
    if (receipt === undefined) continue
    figures.admissions += 1
    const amounts = history.amountsIn(holder, id, name, { from: at, to: at, slackMs })
    const most = amounts.reduce((high, amount) => (amount !== null && amount > high ? amount : high), 0n)
    if (asked > most && !amounts.includes(null))
      report('C1', subject, `${receipt.request_id}: ${asked} of ${most} at ${at}`)
    else figures.staleMs = Math.max(figures.staleMs, history.staleMs(holder, id, name, { at, needed: asked }))
  }
}

function auditWallet(states, report) {
  for (const { at, spent, held, receipt } of states) {
    if (spent > 0n) report('C2', 'wallet', `was overdrawn by ${spent} at ${at}`)
    if (receipt && spent + held > 0n)
      report('C2', receipt.request_id, `the wallet lacked ${spent + held} of its hold at ${at}`)
  }
}

/** A cap that was set or removed meanwhile may be named or not. */
function auditMarks({ request_id: requestId, key, caps, opened_at: at }, { book, history, slackMs }, report) {
  const named = new Set(caps?.split(' ') ?? [])
  if (named.size !== (caps?.split(' ') ?? []).length) report('C3', requestId, `names a cap twice: ${caps}`)
  for (const { holder, id, prefix } of book.holdersOf.get(key)) {
    for (const name of history.namesOf(holder, id)) {
      const mark = prefix + name
      const amounts = history.amountsIn(holder, id, name, { from: at, to: at, slackMs })
      if (named.delete(mark) ? amounts.some((amount) => amount !== null) : amounts.includes(null)) continue
      report('C3', requestId, `${caps}: ${mark} was ${amounts.join(' or ')}`)
    }
  }
  if (named.size > 0) report('C3', requestId, `names ${[...named].join(' ')}, which it does not have`)
}

/** A window of a plan, which has no holder. */
const isOfPlan = ({ code, error }) => code === 'request_exceeds_allowance' && error.holder === undefined

const JUDGES = {
  key_spend_cap_reached: judgeReached,
  person_spend_cap_reached: judgeReached,
  team_budget_reached: judgeReached,
  quota_reached: judgeReached,
  quota_in_flight: judgeReached,
  request_exceeds_allowance: judgeTooLarge,
  balance_in_flight: judgeInFlight,
  insufficient_balance: judgeWallet,
}

/** What is wrong with a refusal; undefined: it was right. */
function judgeRefusal(note, facts) {
  const needed = neededOf(note)
  if (needed === undefined) return `says no need: ${note.error.message}`
  if (needed > mostNeeded(note)) return `the request needs ${mostNeeded(note)} at most, not ${needed}`
  const window = { from: note.startedAt - CLOCK_MS, to: note.endedAt + CLOCK_MS }
  return JUDGES[note.code](note, { ...facts, needed, window })
}

function neededOf({ error, code }) {
  if (code.startsWith('quota') || code === 'request_exceeds_allowance') {
    const [, count] = /this request reserves (\d+)/.exec(error.message) ?? []
    return count === undefined ? undefined : BigInt(count)
  }
  const [, usd] = /this request may cost up to (\d+\.\d+) USD/.exec(error.message) ?? []
  return usd === undefined ? undefined : nanoOf(usd)
}

/** More than is ever reserved for the frame of a request and its message, in tokens. */
const FRAME_TOKENS = 512

/** The most that could be reserved for it: a token for each byte of its body, and its whole output. */
function mostNeeded({ sendTurn, error }) {
  if (error.window === 'requests_day') return 1n
  const input = Buffer.byteLength(JSON.stringify(bodyOf(sendTurn))) + FRAME_TOKENS
  const output = sendTurn.cap ?? 400
  if (error.window === 'tokens_day') return BigInt(input + output)
  const { price } = MODELS.find(({ id }) => id === sendTurn.model)
  const rates = [price, ...price.tiers].map(
    (tier) => nanoOf(tier.input) * BigInt(input) + nanoOf(tier.output) * BigInt(output),
  )
  return rates.reduce((high, rate) => (rate > high ? rate : high)) / 1_000_000n + nanoOf(price.per_request) + 2n
}

/** The states of a timeline in a window, and the one before it. Without any, nothing had been used. */
function statesIn(states, { from, to }) {
  let [low, high] = [0, states?.length ?? 0]
  while (low < high) {
    const middle = (low + high) >> 1
    if (states[middle].at < from) low = middle + 1
    else high = middle
  }
  const found = [low === 0 ? { at: from, spent: 0n, held: 0n } : states[low - 1]]
  for (let index = low; index < (states?.length ?? 0) && states[index].at <= to; index++) found.push(states[index])
  return found
}

/** By their figures: the limit was in force, so much had been used at some moment of the request, and the rest was too little. */
function judgeReached({ sendTurn, error, code }, { book, history, slackMs, figures, needed, window }) {
  const { window: name, holder } = error
  const owner = book.holdersOf.get(book.keyRows.get(sendTurn.keyId)).find((each) => each.holder === holder)
  const read = (amount) => (isCount(name) ? BigInt(amount) : nanoOf(amount))
  const [limit, used] = [read(error.limit), read(error.used)]
  const amounts = history.amountsIn(holder, owner.id, name, { ...window, slackMs })
  const subject = subjectOf({ key: book.keyRows.get(sendTurn.keyId) }, owner.prefix + name)
  figures.reached.add(subject)
  if (!amounts.includes(limit)) return `says a limit of ${limit} of ${subject}, which was ${amounts.join(' or ')}`
  const states = [window.from, window.to].flatMap((at) => {
    const found = book.timelines.get(`${subject} ${periodStart(name, at)}`)
    return statesIn(found?.states, window)
  })
  const isFlying = code === 'quota_in_flight'
  const fits = ({ spent, held }) =>
    spent === used && (isFlying ? limit - spent - held < needed : limit - spent < needed)
  if (states.some(fits)) return undefined
  const seen = states.map(({ spent, held }) => `${spent}+${held}`).slice(0, 6)
  return `${used} of ${limit} are said to be used of ${subject}, ${needed} needed; by the receipts ${seen.join(', ')}`
}

/** More than the whole quota, which no other day covers either. */
function judgeTooLarge({ sendTurn, error }, { book, history, slackMs, needed, window }) {
  const { window: name, holder, limit } = error
  const owner = book.holdersOf.get(book.keyRows.get(sendTurn.keyId)).find((each) => each.holder === holder)
  const amounts = history.amountsIn(holder, owner.id, name, { ...window, slackMs })
  if (!amounts.includes(BigInt(limit))) return `says a limit of ${limit}, which was ${amounts.join(' or ')}`
  return needed > BigInt(limit) ? undefined : `${needed} needed, of ${limit}`
}

const availableOf = ({ error }) => nanoOf(error.available)

function judgeWallet(_note, { book, needed, window }) {
  const states = statesIn(book.wallet, window)
  if (states.some(({ spent }) => -spent < needed)) return undefined
  return `the wallet had ${states.map(({ spent }) => -spent).join(', ')}, ${needed} needed`
}

/** At some moment of the request the tightest of the wallet and its caps had just so much free. */
function judgeInFlight(note, { book, history, slackMs, needed, window }) {
  const available = availableOf(note)
  if (available >= needed) return `${available} are free, and ${needed} needed`
  const key = book.keyRows.get(note.sendTurn.keyId)
  const rooms = statesIn(book.wallet, window).map(({ spent, held }) => -spent - held)
  for (const { holder, id, prefix } of book.holdersOf.get(key)) {
    for (const name of history.namesOf(holder, id)) {
      if (isCount(name)) continue
      const amounts = history.amountsIn(holder, id, name, { ...window, slackMs }).filter((amount) => amount !== null)
      const subject = subjectOf({ key }, prefix + name)
      for (const at of new Set([window.from, window.to].map((moment) => periodStart(name, moment)))) {
        for (const { spent, held } of statesIn(book.timelines.get(`${subject} ${at}`)?.states, window))
          for (const amount of amounts) rooms.push(amount - spent - held)
      }
    }
  }
  return rooms.some((room) => (room > 0n ? room : 0n) === available) ? undefined : `nothing had just ${available} free`
}
