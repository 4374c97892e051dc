import type { Command } from 'commander'
import { Option } from 'commander'
import type { OperationArgs, OperationValue } from '../admin/operations.ts'
import { EXIT } from './cli-services.ts'
import type { CommandContext } from './command-context.ts'
import { columnsOf, countOf, dayOf, formatFacts, formatTable, type Style } from './format.ts'

type Served = OperationValue<'served.report'>
type Sums = Served['total']

/** What the server served: money, requests, speed. */
export function addOverview(program: Command, context: CommandContext): void {
  program
    .command('overview')
    .description(
      'show revenue, provider cost, margin, errors and latency of the whole server; default: the last 30 days',
    )
    .option('--from <day>', 'first day, e.g. 2027-01-01')
    .option('--to <day>', 'first day after the range; default: tomorrow')
    .option('--zone <name>', 'time zone of the days, e.g. Europe/Berlin; default: UTC')
    .addOption(new Option('--step <step>', 'steps of --json').choices(['hour', 'day', 'month']))
    .action((options: OperationArgs<'served.report'>) =>
      context.operate('served.report', options, (report, style) => ({
        data: showServed(report, style),
        ...(report.complete ? {} : { note: 'Older requests are still being counted. Run the command again.\n' }),
      })),
    )
}

const COLUMNS = ['>requests', '>failed', '>revenue', '>plan', '>cost', '>margin']

const cellsOf = ({ requests, failed, revenue, plan, cost, margin }: Sums): string[] => [
  ...[String(requests), String(failed), revenue, plan, cost, margin],
]

const timesOf = ({ p50, p95 }: Served['latency']['first']): string =>
  p50 === null ? 'none' : `${p50} ms median, ${p95} ms p95`

function showServed({ total, latency, models, accounts, from, to }: Served, style: Style): string {
  const facts = formatFacts(style, [
    ['from', from],
    ['until before', to],
    ['requests', `${total.requests}, ${total.failed} failed, ${countOf(total.failovers, 'failover')}`],
    ['first token', timesOf(latency.first)],
    ['whole answer', timesOf(latency.total)],
    ['without provider cost', total.unpriced === 0 ? null : countOf(total.unpriced, 'charged request')],
  ])
  if (total.requests === 0) return facts
  const table = (header: string, rows: readonly string[][]) =>
    formatTable(style, columnsOf(header, ...COLUMNS), [...rows, ['total', ...cellsOf(total)]])
  return [
    facts,
    table(
      'model',
      models.map(({ id, served }) => [id ?? 'the rest', ...cellsOf(served)]),
    ),
    table(
      'account',
      accounts.map(({ id, email, served }) => [id === null ? 'the rest' : email, ...cellsOf(served)]),
    ),
  ].join('\n')
}

type Invoice = OperationValue<'invoice.show'>

interface InvoiceOptions extends Omit<OperationArgs<'invoice.show'>, 'account'> {
  readonly csv?: true
}

/** What an account was charged. */
export function addInvoice(program: Command, context: CommandContext): void {
  program
    .command('invoice <account>')
    .description('show what an account was charged by day and model, with credits and balances; default: this month')
    .option('--month <month>', 'a month, e.g. 2027-01')
    .option('--from <day>', 'first day, instead of a month')
    .option('--to <day>', 'first day after the range')
    .option('--zone <name>', 'time zone of the days, e.g. Europe/Berlin; default: UTC')
    .option('--csv', 'print it as CSV')
    .action(async (account: string, { csv, ...options }: InvoiceOptions) => {
      const args = { ...options, account }
      if (!csv)
        return context.operate('invoice.show', args, (invoice, style) => ({ data: showInvoice(invoice, style) }))
      if (context.json) return context.fail(EXIT.usage, 'Give --csv or --json, not both.')
      const text = await context.call('invoice.export', args)
      if (text !== undefined) context.services.terminal.out(text)
    })
}

function showInvoice(invoice: Invoice, style: Style): string {
  const { account, opening, transfers, lines, totals, closing, first_day, last_day, zone } = invoice
  const facts = formatFacts(style, [
    ['account', account.email],
    ['period', `${first_day} to ${last_day}, ${zone}`],
    ['balance before', opening],
    ['credits and corrections', totals.transferred],
    ['charged', totals.charged],
    ['balance after', closing],
    ['charged in cents', `${totals.charged_in_cents} (rounding ${totals.rounding})`],
    ['counted on the plan', totals.plan === '0.00' ? null : totals.plan],
  ])
  const moved = transfers.map(({ at, kind, amount, ref, reason }) => [dayOf(at), kind, amount, ref, reason])
  const charged = lines.map(({ day, model, requests, amount, plan }) => [day, model, String(requests), amount, plan])
  return [
    facts,
    ...(moved.length === 0 ? [] : [formatTable(style, columnsOf('day', 'kind', '>amount', 'ref', 'reason'), moved)]),
    ...(charged.length === 0
      ? []
      : [
          formatTable(style, columnsOf('day', 'model', '>requests', '>amount', '>plan'), [
            ...charged,
            ['total', '', String(totals.requests), totals.charged, totals.plan],
          ]),
        ]),
  ].join('\n')
}
