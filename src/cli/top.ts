import { type Command, InvalidArgumentError } from 'commander'
import type { OperationValue } from '../admin/operations.ts'
import { EXIT, type OfWorker } from './cli-services.ts'
import type { CommandContext } from './command-context.ts'
import { columnsOf, formatFacts, formatTable, type Style } from './format.ts'

interface TopOptions {
  readonly once?: true
  readonly interval: number
}

const CLEAR_SCREEN = '\u001b[H\u001b[2J'

export function addTop(program: Command, context: CommandContext): void {
  program
    .command('top')
    .description('show what the running server does now: requests, tokens and failures per second, by model and lane')
    .option('--once', 'print one measurement and end')
    .option('--interval <seconds>', 'seconds that a measurement lasts, 1 to 60', parseSeconds, 2)
    .action(async ({ once, interval }: TopOptions) => {
      const { pause, terminal } = context.services
      let before = await look(context)
      while (before !== undefined) {
        await pause(interval * 1000)
        const after = await look(context)
        if (after === undefined) return
        const view = compare(before, after)
        const clear = terminal.colours.out && !once && !context.json ? CLEAR_SCREEN : ''
        if (clear !== '') terminal.out(clear)
        context.print(view, { data: showTop(context.style, view) })
        if (once) return
        before = after
      }
    })
}

function parseSeconds(text: string): number {
  const seconds = Number(text)
  if (/^\d{1,2}$/.test(text) && seconds >= 1 && seconds <= 60) return seconds
  throw new InvalidArgumentError('It must be a whole number from 1 to 60.')
}

/** All samples of one moment, by worker. Each worker has a clock of its own, which starts again with its process. */
type Look = ReadonlyMap<number, WorkerLook>

interface WorkerLook {
  readonly atMs: number
  readonly samples: ReadonlyMap<string, readonly Sample[]>
}

interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

async function look(context: CommandContext): Promise<Look | undefined> {
  const answer = await context.services.operator.callEach(context.place(), 'metrics.read', () => ({}))
  if (answer.kind === 'done') return readLook(answer.value)
  context.fail(answer.kind === 'refused' ? EXIT.failure : answer.exit, answer.message)
  return undefined
}

const readLook = (workers: readonly OfWorker<OperationValue<'metrics.read'>>[]): Look =>
  new Map(workers.map(({ worker, value }) => [worker, { atMs: value.at_ms, samples: readSamples(value.text) }]))

function readSamples(text: string): WorkerLook['samples'] {
  const samples = new Map<string, Sample[]>()
  for (const line of text.split('\n')) {
    const [, name, labels, number] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    if (name === undefined || !name.startsWith('millrace_')) continue
    const known = samples.get(name) ?? []
    known.push({ labels: readLabels(labels ?? ''), value: Number(number) })
    samples.set(name, known)
  }
  return samples
}

const readLabels = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name, value]) => [name!, unescaped(value!)]),
  )

const unescaped = (text: string): string =>
  text.replace(/\\(.)/g, (_, letter: string) => (letter === 'n' ? ' ' : letter))

type Wanted = (labels: Sample['labels']) => boolean

/** What a worker counted between two looks. A worker that was started in between is compared from the next look on. */
function pairsOf(before: Look, after: Look) {
  return [...after].flatMap(([worker, now]) => {
    const then = before.get(worker)
    return then === undefined || then.atMs >= now.atMs ? [] : [{ then, now, seconds: (now.atMs - then.atMs) / 1000 }]
  })
}

function compare(before: Look, after: Look) {
  const pairs = pairsOf(before, after)
  const samplesOf = (name: string) => [...after.values()].flatMap(({ samples }) => samples.get(name) ?? [])
  const sum = ({ samples }: WorkerLook, name: string, wanted: Wanted) =>
    (samples.get(name) ?? []).reduce((all, { labels, value }) => (wanted(labels) ? all + value : all), 0)
  const rate = (name: string, wanted: Wanted = () => true) => {
    const rates = pairs.map(({ then, now, seconds }) =>
      Math.max(0, (sum(now, name, wanted) - sum(then, name, wanted)) / seconds),
    )
    return Math.round(rates.reduce((all, each) => all + each, 0) * 10) / 10
  }
  const now = (name: string) => samplesOf(name).reduce((all, { value }) => all + value, 0)
  const valuesOf = (name: string, label: string) =>
    [...new Set(samplesOf(name).map(({ labels }) => labels[label]!))].sort()
  const tokens = (wanted: Wanted) => ({
    input_tokens: rate('millrace_tokens_total', (labels) => wanted(labels) && IS_INPUT.has(labels.class!)),
    output_tokens: rate('millrace_tokens_total', (labels) => wanted(labels) && labels.class === 'output'),
  })
  const failed = (labels: Sample['labels']) => labels.outcome !== 'completed'
  const aside = new Map(samplesOf('millrace_lanes_aside').map(({ labels }) => [labels.lane, labels.reason]))
  return {
    seconds: Math.round(Math.max(0, ...pairs.map(({ seconds }) => seconds)) * 10) / 10,
    running: now('millrace_turns_running'),
    waiting: now('millrace_queue_length'),
    holds: now('millrace_holds_open'),
    /** All others are per second. */
    requests: rate('millrace_http_requests_total'),
    refused: rate('millrace_http_requests_total', ({ status }) => status?.startsWith('4') === true),
    failed: rate('millrace_http_requests_total', ({ status }) => status?.startsWith('5') === true),
    shed: rate('millrace_shed_total'),
    ...tokens(() => true),
    models: valuesOf('millrace_turns_total', 'model').map((model) => {
      const isOf: Wanted = (labels) => labels.model === model
      const turns = rate('millrace_turns_total', isOf)
      return {
        model,
        turns,
        failed: rate('millrace_turns_total', (each) => isOf(each) && failed(each)),
        ...tokens(isOf),
      }
    }),
    lanes: [...new Set([...valuesOf('millrace_lane_attempts_total', 'lane'), ...aside.keys()])].map((lane) => {
      const isOf: Wanted = (labels) => labels.lane === lane
      const attempts = rate('millrace_lane_attempts_total', isOf)
      const lost = rate('millrace_lane_attempts_total', (each) => isOf(each) && each.outcome !== 'finished')
      return { lane, attempts, failed: lost, circuit_open: aside.get(lane) ?? null }
    }),
  }
}

const IS_INPUT = new Set(['uncached_input', 'cached_input', 'cache_write'])

type TopView = ReturnType<typeof compare>

function showTop(style: Style, view: TopView): string {
  const facts = formatFacts(style, [
    ['requests', `${view.running} running, ${view.waiting} waiting, ${view.holds} holds`],
    ['per second', `${view.requests} requests, ${view.refused} refused, ${view.failed} failed, ${view.shed} shed`],
    ['tokens per second', `${view.input_tokens} in, ${view.output_tokens} out`],
  ])
  const models = view.models.map(({ model, turns, failed, input_tokens, output_tokens }) => [
    ...[model, String(turns), String(failed), String(input_tokens), String(output_tokens)],
  ])
  const lanes = view.lanes.map(({ lane, attempts, failed, circuit_open: reason }) => [
    ...[String(lane), String(attempts), String(failed), reason === null ? 'closed' : `open: ${reason}`],
  ])
  const tables = [
    models.length === 0
      ? ''
      : `\n${formatTable(style, columnsOf('model', '>turns/s', '>not completed/s', '>in/s', '>out/s'), models)}`,
    lanes.length === 0
      ? ''
      : `\n${formatTable(style, columnsOf('lane', '>attempts/s', '>not finished/s', 'circuit'), lanes)}`,
  ]
  return `${facts}${tables.join('')}`
}
