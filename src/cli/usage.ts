import { type Command, Option } from 'commander'
import type { OperationArgs, OperationValue } from '../admin/operations.ts'
import { EXIT, type KeyStanding } from './cli-services.ts'
import { type CommandContext, inPages, type PageOptions } from './command-context.ts'
import { columnsOf, dayOf, formatTable, type Style } from './format.ts'

type UsageArgs = OperationArgs<'usage.report'>
type Report = OperationValue<'usage.report'>
type Used = Report['total']

interface UsageOptions extends Omit<UsageArgs, 'account'>, PageOptions {
  readonly csv?: true
}

export function addUsage(program: Command, context: CommandContext): void {
  const usage = program
    .command('usage [account]')
    .description(
      'show the usage of all accounts, or of one by model, key, kind, person, team or tag; default: the last 30 days',
    )
    .option('--from <day>', 'first day, e.g. 2027-01-01')
    .option('--to <day>', 'first day after the range; default: tomorrow')
    .option('--zone <name>', 'time zone of the days, e.g. Europe/Berlin; default: UTC')
    .option('--by <part>', 'parts of an account: model, key, kind, person, team, or a tag such as tag:repo')
    .addOption(new Option('--step <step>', 'steps of --csv and --json').choices(['hour', 'day', 'month']))
    .option('--model <model>', 'only one model of an account')
    .option('--key <key>', 'only one key of an account')
    .addOption(new Option('--kind <kind>', 'only keys of one kind of an account').choices(['wallet', 'builder']))
    .option('--csv', 'print a row for each step and part of an account as CSV')
  inPages(usage).action(async (account: string | undefined, options: UsageOptions) => {
    const { csv, after, limit, ...args } = options
    if (account === undefined) return showAccounts(context, options)
    if (!csv)
      return context.operate('usage.report', { ...args, account }, (report, style) => showReport(style, report, args))
    if (context.json) return context.fail(EXIT.usage, 'Give --csv or --json, not both.')
    const text = await context.call('usage.export', { ...args, account })
    if (text !== undefined) context.services.terminal.out(text)
  })
}

const COLUMNS = ['>requests', '>failed', '>input', '>cached', '>output', '>wallet', '>plan']

const cellsOf = (used: Used): string[] => [
  ...[used.requests, used.failed, used.uncached_input + used.cached_input + used.cache_write].map(String),
  ...[String(used.cached_input), String(used.output), used.wallet, used.plan],
]

function showReport(style: Style, { from, to, total, table }: Report, { by = 'model' }: Pick<UsageArgs, 'by'>) {
  if (total.requests === 0) return { data: '', note: `No usage from ${dayOf(from)} until before ${dayOf(to)}.\n` }
  const rows = table.map(({ name, used }) => [name, ...cellsOf(used)])
  return { data: formatTable(style, columnsOf(by, ...COLUMNS), [...rows, ['total', ...cellsOf(total)]]) }
}

function showAccounts(context: CommandContext, options: UsageOptions): Promise<void> {
  const { from, to, zone, after, limit } = options
  const named = Object.keys(options).filter((name) => ['by', 'step', 'model', 'key', 'kind', 'csv'].includes(name))
  if (named.length > 0) {
    context.fail(EXIT.usage, `--${named[0]} needs an account: millrace usage ACCOUNT --${named[0]}`)
    return Promise.resolve()
  }
  const range = Object.entries({ from, to, zone }).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return context.list(
    'usage.accounts',
    { limit, ...(after === undefined ? {} : { after }), ...Object.fromEntries(range) },
    {
      columns: ['account', ...COLUMNS],
      row: ({ email, used }) => [email, ...cellsOf(used)],
      command: ['usage', ...range.flatMap(([name, value]) => [`--${name}`, value])],
      none: 'There are no accounts.',
    },
  )
}

export function addGauge(program: Command, context: CommandContext): void {
  program
    .command('gauge')
    .description('print what an API key has left in one line, for a status line; reads the key from MILLRACE_KEY')
    .option('--url <url>', 'base URL of the server; default: OPENAI_BASE_URL, else http://127.0.0.1:4600/v1')
    .action(async ({ url }: { url?: string }) => {
      const read = await context.services.readKeyStanding(url)
      if (read.kind === 'failed') return context.fail(read.exit, read.message)
      context.print(read.standing, { data: `${describeStanding(read.standing)}\n` })
    })
}

/** `$9.42 · day $3.80 of $5.00 · 5h $10.50 of $12.00` */
export function describeStanding({ wallet, caps, windows }: KeyStanding): string {
  const wholes = wallet === null ? [] : [dollars(wallet.available)]
  const parts = [...caps, ...windows].map(({ name, limit, left, holder }) => {
    const whose = holder === undefined || holder === 'key' ? name : `${holder} ${name}`
    const [isLeft, of] = name.includes('_') ? [left, limit] : [dollars(left), dollars(limit)]
    return `${whose} ${isLeft} of ${of}`
  })
  return [...wholes, ...parts].join(' · ') || 'no limit'
}

/** Whole cents, never more than there is. */
function dollars(amount: string): string {
  const [whole, cents = ''] = amount.split('.')
  return `$${whole}.${cents.slice(0, 2).padEnd(2, '0')}`
}
