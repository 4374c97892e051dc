import { growthOf, mostOf } from './audit-metrics.mjs'

/** What is compared, by the name under which a difference is reported. */
const AGREEMENTS = {
  'I1 I2 I3 I4 I5 I6 I11': 'the rows add up, nothing is overdrawn, held or mixed',
  I10: 'an idempotency key is charged once, and its answers are the same',
  told: 'a request is charged what its client was told, once, or as its end says',
  priced: 'every charge is that of its tokens at the price of the moment',
  refused: 'a refusal costs nothing',
  once: 'an answer that is given again has no receipt',
  owned: 'every receipt belongs to one request that was sent',
  answers: 'nothing failed but by what was meant to happen',
  pages: 'pages, exports, statements and invoices say what the receipts say',
  metrics: 'the metrics counted what the receipts say',
}
/** Whether the answer was stored is unknown where the database or the node went away with it. */
const IS_KEPT = /its answer is (?:not )?(?:kept|there)|was told idempotency_not_replayable/
const CUT_OFF_MS = 20_000

const isCutOff = (receipt, disturbances) =>
  receipt !== undefined &&
  disturbances.some(
    ({ kind, from, to }) => kind !== 'brown' && receipt.closed_at >= from && receipt.opened_at <= to + CUT_OFF_MS,
  )

/** Tells what differs, a few of each kind, and counts it. */
export function tellViolations({ found, receipts, disturbances }, tally) {
  const violations = found.filter(({ id, says }) => !(IS_KEPT.test(says) && isCutOff(receipts.get(id), disturbances)))
  for (const { invariant, id, says } of fewOfEach(violations)) console.log(`  ${invariant} ${id} ${says}`)
  for (const [invariants, says] of Object.entries(AGREEMENTS)) {
    const count = violations.filter(({ invariant }) => invariants.split(' ').includes(invariant)).length
    tally.check(count === 0, `${says} (${count})`)
  }
}

/** A few of each kind. */
function fewOfEach(violations) {
  const seen = new Map()
  return violations.filter(({ invariant, says }) => {
    const kind = `${invariant} ${says.replace(/\d+/g, 'n').replace(/req_\w+|key_\w+/g, 'id')}`
    seen.set(kind, (seen.get(kind) ?? 0) + 1)
    return seen.get(kind) <= 3
  })
}

const listed = (counts) =>
  Object.entries(counts)
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([name, count]) => `${name}: ${count}`)
    .join(', ')

export function printFigures({ figures, keys, paged, metered, rows, operator }) {
  const outcomes = {}
  for (const { outcome } of rows.receipts) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  const lines = {
    requests: `${figures.requests}; ${listed(figures.ends)}`,
    refused: listed(figures.refused),
    receipts: `${rows.receipts.length}; ${listed(outcomes)}`,
    'receipts by price': `${listed(figures.prices)}; versions ${[...figures.versions].sort().join(', ')}`,
    'idempotency keys': `${keys.keys}; ${keys.replays} answers given again, ${keys.reused} other bodies refused`,
    'told to clients': `${figures.told} nano in ${figures.done} answers`,
    'charged in all': `${paged.total} nano; ${paged.compared} figures of pages and exports compared`,
    operator: listed(operator.done),
    metrics: `${metered.lives} lives: ${metered.exact} counted exactly, ${metered.bounded} within bounds; ${metered.counted} nano counted, ${metered.unknown} unknown`,
  }
  for (const [name, value] of Object.entries(lines)) console.log(`${name}: ${value}`)
}

/** A day without one of these has proved nothing about it. */
export function checkCoverage({ site, scene, played, figures, keys, isCluster }, tally) {
  const { lives, notes } = site
  const missing = Object.keys(played.events).filter((name) => played.moments[name] === undefined)
  tally.check(missing.length === 0, `every event of the day took place (${missing.join(', ') || 'none is missing'})`)
  const lane = (name) => name.includes(`lane="${scene.brown}/`)
  const opened = growthOf(lives, (name) => name.startsWith('millrace_lane_cooldowns_total') && lane(name))
  const failovers = growthOf(lives, (name) => name.startsWith('millrace_failovers_total'))
  const aside = mostOf(lives, (name) => name.startsWith('millrace_lanes_aside') && lane(name))
  tally.check(
    failovers > 0 && opened > 0 && aside > 0 && played.moments.brownOut.closed !== undefined,
    `the brown-out made ${failovers} failovers, and opened circuits ${opened} times, which closed again`,
  )
  const refused = (code) => Object.keys(figures.refused).some((told) => told.endsWith(code))
  const told = (event) => played.pages.notices.includes(event)
  const kinds = new Set(notes.map(({ sendTurn }) => `${sendTurn.protocol ?? 'chat'} ${sendTurn.delivery}`))
  const seen = {
    'notices of a cap that is reached, a plan that is renewed, and a refused reload':
      told('cap.reached') && told('plan.renewed') && told('reload.refused'),
    'runs that used up their budgets': refused('run_budget_exceeded'),
    'answers given again for idempotency keys': keys.replays > 0,
    'both protocols, as streams and JSON': kinds.size === 4,
    'answers at the old and the new price': ['talk', 'metered'].every(
      (model) => figures.prices[`${model} 1`] > 0 && figures.prices[`${model} 2`] > 0,
    ),
    'clients that hung up': figures.ends.aborted > 0,
    'an operator at work': Object.keys(played.operator.done).length === 6,
    ...(isCluster && { 'refusals with retry-after while the database was away': figures.retry > 0 }),
  }
  for (const [what, isSeen] of Object.entries(seen)) tally.check(isSeen, `the day had ${what}`)
}
