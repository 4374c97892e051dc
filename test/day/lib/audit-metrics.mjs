import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const RULES = fileURLToPath(new URL('../../../deploy/prometheus/rules.yml', import.meta.url))
const CHARGED = /^millrace_charged_nano_usd_total\{model="([^"]+)"\}$/
/** Between the commit of a charge and its count. */
const LATE_MS = 2000
/** The clocks of servers and this process. */
const CLOCK_MS = 100

/**
 * The counters of money and requests of each life of a server against the receipts that it closed. A life whose last sample was taken at
 * rest has to agree exactly; of another one what it closed around and after that sample is unknown. `restAt` is when the last request
 * had ended.
 */
export function auditMetrics({ lives, notes, rows, restAt }, report) {
  const figures = { lives: lives.length, exact: 0, bounded: 0, counted: 0n, unknown: 0n }
  const own = receiptsOfLives(lives, notes, rows)
  for (const life of lives) {
    const last = life.samples.at(-1)
    if (last === undefined) continue
    const isExact = last.from > restAt
    figures[isExact ? 'exact' : 'bounded'] += 1
    const lost = isExact ? countLost(last.series, own.get(life)) : 0
    const models = new Set(own.get(life).map(({ model }) => model))
    for (const [name] of last.series) if (CHARGED.test(name)) models.add(CHARGED.exec(name)[1])
    for (const model of models) {
      const counted = BigInt(last.series.get(`millrace_charged_nano_usd_total{model="${model}"}`) ?? 0)
      const sumUntil = (at) =>
        own
          .get(life)
          .reduce((sum, each) => (each.model === model && each.closed_at <= at ? sum + each.charge_nano : sum), 0n)
      const [least, most] = isExact
        ? [
            sumUntil(Number.POSITIVE_INFINITY) - mostOfLost(own.get(life), model, lost),
            sumUntil(Number.POSITIVE_INFINITY),
          ]
        : [sumUntil(last.from - LATE_MS), sumUntil(last.to + LATE_MS)]
      figures.counted += counted
      figures.unknown += most - least
      if (counted < least || counted > most)
        report('metrics', `life ${life.number}`, `${model}: ${counted} counted, by the receipts ${least} to ${most}`)
    }
    if (isExact) auditTurns(life, { series: last.series, receipts: own.get(life), lost }, report)
  }
  return figures
}

function auditTurns(life, { series, receipts, lost }, report) {
  for (const outcome of new Set(receipts.map((receipt) => receipt.outcome))) {
    if (outcome === UNAVAILABLE) continue
    const counted = countTurns(series, outcome)
    const own = receipts.filter((receipt) => receipt.outcome === outcome).length
    if (counted > own || counted < own - lost)
      report('metrics', `life ${life.number}`, `${counted} turns ${outcome}, by the receipts ${own}, ${lost} lost`)
  }
}

const UNAVAILABLE = 'ledger_unavailable'

function countTurns(series, outcome) {
  let counted = 0
  for (const [name, value] of series)
    if (name.startsWith('millrace_turns_total{') && name.includes(`outcome="${outcome}"`)) counted += value
  return counted
}

/** Turns whose end a life could not record, and which were recorded later: from the journal of ends, or by recovery. */
const countLost = (series, receipts) =>
  Math.max(0, countTurns(series, UNAVAILABLE) - receipts.filter(({ outcome }) => outcome === UNAVAILABLE).length)

/** The most that so many turns of a model may have been charged. */
function mostOfLost(receipts, model, lost) {
  const charges = receipts.filter((each) => each.model === model).map(({ charge_nano: nano }) => nano)
  const dearest = charges.sort((one, other) => Number(other - one)).slice(0, lost)
  return dearest.reduce((sum, nano) => sum + nano, 0n)
}

/**
 * Which life a receipt is of: on PostgreSQL its row names the node, and the notes say which life that was. What recovery ends counts
 * for none.
 */
function receiptsOfLives(lives, notes, { receipts }) {
  const own = new Map(lives.map((life) => [life, []]))
  const lifeAt = (node, at) =>
    lives.findLast((life) => (node === undefined || life.node === node) && life.from <= at + CLOCK_MS)
  const noteOf = new Map(notes.map((note) => [note.id, note]))
  const lifeOfNode = new Map()
  for (const { node, request_id: id } of receipts) {
    const note = noteOf.get(id)
    if (node !== undefined && note !== undefined && !lifeOfNode.has(node))
      lifeOfNode.set(node, lifeAt(note.node, note.startedAt))
  }
  for (const receipt of receipts) {
    if (receipt.outcome === 'recovered') continue
    own.get(lifeOfNode.get(receipt.node) ?? lifeAt(undefined, receipt.opened_at))?.push(receipt)
  }
  return own
}

/** Whether a counter grew, over all lives. */
export const growthOf = (lives, isMeant) =>
  lives.reduce((total, { samples }) => {
    for (const [name, value] of samples.at(-1)?.series ?? []) if (isMeant(name)) total += value
    return total
  }, 0)

/** The most that a gauge was. */
export const mostOf = (lives, isMeant) =>
  Math.max(
    0,
    ...lives.flatMap(({ samples }) =>
      samples.flatMap(({ series }) => [...series].filter(([name]) => isMeant(name)).map(([, value]) => value)),
    ),
  )

const OF_ALERTS = /^millrace_(?:failovers_total|lane_attempts_total|config_reload_refused|turns_total)/
/** Between two samples of the day, eight hours long. */
const EVERY_S = 120

/**
 * Whether the rules of deploy/prometheus fire on the samples, which are taken as those of eight hours. Undefined, and said so, without
 * promtool.
 */
export function auditAlerts({ lives, alerts, folder, from, sampleMs }, tally) {
  if (spawnSync('promtool', ['--version']).status !== 0) {
    console.log('promtool is not installed: the alert rules are not evaluated')
    return
  }
  const count = Math.max(...lives.map(({ samples }) => Math.ceil(((samples.at(-1)?.to ?? from) - from) / sampleMs))) + 1
  const series = new Map()
  for (const { node, number, samples } of lives) {
    for (const sample of samples) {
      const slot = Math.floor((sample.to - from) / sampleMs)
      if (slot < 0) continue
      for (const [name, value] of sample.series) {
        if (!OF_ALERTS.test(name)) continue
        const named = name.replace(/\{|$/, name.includes('{') ? '{' : '{').replace(/\{$/, '{}')
        const labelled = named.replace('{', `{instance="node-${node}",life="${number}",`).replace(',}', '}')
        if (!series.has(labelled)) series.set(labelled, Array(count).fill('_'))
        series.get(labelled)[slot] = value
      }
    }
  }
  const input = [...series].map(([name, values]) => ({ series: name, values: filled(values).join(' ') }))
  const names = alerts.join('|')
  const fired = `count by (alertname) (count_over_time(ALERTS{alertstate="firing",alertname=~"${names}"}[1d])) > bool 0`
  const test = {
    rule_files: [RULES],
    evaluation_interval: `${EVERY_S}s`,
    tests: [
      {
        interval: `${EVERY_S}s`,
        input_series: input,
        promql_expr_test: [
          {
            ...{ expr: fired, eval_time: `${(count - 1) * EVERY_S}s` },
            exp_samples: alerts.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
          },
        ],
      },
    ],
  }
  const file = join(folder, 'samples.test.json')
  writeFileSync(file, JSON.stringify(test))
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })
  if (status !== 0) console.log(`${stdout}${stderr}`.slice(-2000))
  tally.check(status === 0, `the alert rules fire on the samples of the day: ${alerts.join(', ')}`)
}

/** A sample that came late leaves a gap, which a Prometheus would not have. */
function filled(values) {
  const [first, last] = [values.findIndex((value) => value !== '_'), values.findLastIndex((value) => value !== '_')]
  for (let index = first + 1; index < last; index++) if (values[index] === '_') values[index] = values[index - 1]
  return values
}
