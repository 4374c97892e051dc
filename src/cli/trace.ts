import type { Command } from 'commander'
import type { OperationValue } from '../admin/operations.ts'
import { prettyLine } from '../telemetry/log.ts'
import { EXIT } from './cli-services.ts'
import type { CommandContext } from './command-context.ts'
import { columnsOf, formatFacts, formatTable, type Style } from './format.ts'

export function addTrace(program: Command, context: CommandContext): void {
  program
    .command('trace <request>')
    .description('show everything about one request, by its req_ id')
    .action((request: string) =>
      context.operate('requests.trace', { request }, (trace, style) => ({ data: formatTrace(style, trace) })),
    )
}

type RequestTrace = OperationValue<'requests.trace'>

export function formatTrace(style: Style, trace: RequestTrace): string {
  const { compaction, cache_lost: lost, shortfall, prefix_broken_at: brokenAt, prefix_broken: broken } = trace
  const facts = formatFacts(style, [
    ['request', trace.id],
    ['account', `${trace.account.email} (${trace.account.id})`],
    ['key', `${trace.key.name} (${trace.key.id}, ${trace.kind})`],
    ['model', trace.model],
    ['state', trace.outcome === null ? trace.state : `${trace.state}, ${trace.outcome}`],
    ['opened', trace.opened_at],
    ['closed', trace.closed_at],
    ['first byte', trace.first_byte_ms === null ? null : `${trace.first_byte_ms} ms`],
    ['total', trace.total_ms === null ? null : `${trace.total_ms} ms`],
    ['lane', trace.lane],
    ['tokens', tokensOf(trace)],
    ['compacted', compaction && `${grouped(compaction.tokens_before)} → ${grouped(compaction.tokens_after)} tokens`],
    ['price', priceOf(trace)],
    ['paid by', payerOf(trace)],
    ['held', `${trace.hold} USD, for at most ${trace.output_cap} output tokens`],
    ['cost', trace.cost && `${trace.cost} USD`],
    ['charge', trace.charge && `${trace.charge} USD`],
    ['cache lost', lost && `${grouped(lost.tokens)} tokens on another lane, ${lost.cost} USD`],
    ['prefix broken', broken && `at ${brokenAt} by ${broken.by.replace('_', ' ')}${lossesOf(broken)}`],
    ['shortfall', shortfall === null || shortfall === '0.00' ? null : `${shortfall} USD`],
  ])
  if (trace.attempts.length === 0) return facts
  const attempts = trace.attempts.map(({ lane, outcome, status, ms }) => [
    ...[lane, outcome, status === null ? '' : String(status), String(ms)],
  ])
  return `${facts}\n${formatTable(style, columnsOf('attempt', 'outcome', '>status', '>ms'), attempts)}`
}

function lossesOf({ cached_tokens_lost: cached, reasoning_items_lost: reasoning }: Broken): string {
  const losses = [
    ...(cached === null ? [] : [`${grouped(cached)} cached tokens`]),
    ...(reasoning === null ? [] : [`${reasoning} reasoning items`]),
  ]
  return losses.length === 0 ? '' : `, ${losses.join(' and ')} lost`
}

type Broken = NonNullable<RequestTrace['prefix_broken']>

function tokensOf({ tokens }: RequestTrace): string | null {
  if (tokens === null) return null
  const cached = tokens.cached_input + tokens.cache_write
  const input = cached === 0 ? '' : ` (${tokens.cached_input} from the cache, ${tokens.cache_write} written to it)`
  const reasoning = tokens.reasoning === 0 ? '' : ` (${tokens.reasoning} of them reasoning)`
  const flag = tokens.estimated ? ', estimated' : ''
  return `${tokens.uncached_input + cached} in${input}, ${tokens.output} out${reasoning}${flag}`
}

/** `48,210` on every machine. */
const grouped = (count: number): string => count.toLocaleString('en-US')

function priceOf({ price_version, tier, price }: RequestTrace): string {
  const prices = `${price.input} in, ${price.cached_input} cached, ${price.cache_write} written, ${price.output} out`
  const fixed = price.per_request === '0.00' ? '' : `, ${price.per_request} per request`
  const above = tier === null || tier === 0 ? '' : `, tier above ${tier} input tokens`
  return `${prices}${fixed} (version ${price_version}${above})`
}

function payerOf({ paid_by }: RequestTrace): string {
  const windows = paid_by.windows.map(({ name, start }) => `${name} from ${start}`).join(', ')
  const payer = paid_by.kind === 'wallet' ? 'the wallet' : `plan ${paid_by.plan ?? 'unknown'}, windows ${windows}`
  const caps = paid_by.caps.map(({ name }) => name).join(' and ')
  return caps === '' ? payer : `${payer}; counted against the key's ${caps} cap`
}

interface LogsOptions {
  readonly follow?: true
  readonly account?: string
  readonly errors?: true
}

const LOOK_MS = 250

export function addLogs(program: Command, context: CommandContext): void {
  program
    .command('logs')
    .description('follow the log of the running server, whatever its level, until it stops or Ctrl+C')
    .option('--follow', 'required: older lines are where standard output of the server goes')
    .option('--account <account>', 'only the requests of one account: id or email')
    .option('--errors', 'only refused and failed requests, warnings and errors')
    .action(async ({ follow, ...filter }: LogsOptions) => {
      if (!follow)
        return context.fail(
          EXIT.usage,
          'The server writes its log to standard output and keeps none: read it there (journalctl, docker logs). To see what comes now: millrace logs --follow',
        )
      await followLog(context, filter)
    })
}

/** Asks for new lines several times a second. The server keeps a bounded number of them and never waits for a reader. */
async function followLog(context: CommandContext, filter: Omit<LogsOptions, 'follow'>): Promise<void> {
  const { operator, terminal, pause } = context.services
  const next = new Map<number, string>()
  for (;;) {
    const answer = await operator.callEach(context.place(), 'logs.read', (worker) => {
      const after = next.get(worker)
      return after === undefined ? filter : { ...filter, after }
    })
    if (answer.kind !== 'done') {
      const exit = answer.kind === 'refused' ? EXIT.failure : answer.exit
      const isGone = next.size > 0 && exit === EXIT.notRunning
      return context.fail(exit, isGone ? 'The server has stopped.' : answer.message)
    }
    for (const { worker, value } of answer.value) {
      if (value.lost > 0) terminal.err(`${value.lost} lines were not read in time and are lost here.\n`)
      terminal.out(value.lines.map((line) => (context.json ? line : prettyLine(line))).join(''))
      next.set(worker, value.next)
    }
    if (!answer.value.some(({ value }) => value.more)) await pause(LOOK_MS)
  }
}
