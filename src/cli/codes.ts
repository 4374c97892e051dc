import type { Command } from 'commander'
import { type CommandContext, inPages, type PageOptions, parseCount, showList } from './command-context.ts'
import { columnsOf, countOf, dayOf } from './format.ts'

interface CreateOptions {
  readonly count: number
  readonly note: string
  readonly expires?: string
}

const COLUMNS = columnsOf('id', 'code', 'amount', 'state', 'note', 'created', 'expires', 'redeemed by', 'redeemed')

export function addCodes(program: Command, context: CommandContext): void {
  const codes = program.command('codes').description('manage redemption codes, each worth an amount once')
  codes
    .command('create <amount>')
    .description('create codes and print them once; anyone with a code can redeem it')
    .option('--count <n>', 'number of codes, at most 100', parseCount, 1)
    .option('--note <text>', 'a note for operators', '')
    .option('--expires <when>', 'a date (2027-01-31) or a span (90d); default: never')
    .action(async (amount: string, options: CreateOptions) => {
      await context.operate('codes.create', { amount, ...options }, ({ items }) => ({
        before: `Created ${countOf(items.length, 'code')} of ${items[0]?.code.amount} USD, shown only once:\n`,
        data: items.map(({ secret }) => `${secret}\n`).join(''),
        note: 'Anyone with a code can redeem it once. To withdraw one:  millrace codes withdraw CODE\n',
      }))
    })
  inPages(codes.command('list').description('list codes without their text, newest first')).action(
    async (options: PageOptions) => {
      await context.operate('codes.list', options, ({ items, next }, style) =>
        showList(style, {
          columns: COLUMNS,
          rows: items.map((code) => [
            ...[code.id, code.shown, code.amount, code.state, code.note, dayOf(code.created_at)],
            ...[dayOf(code.expires_at ?? 'never'), code.redeemed_by ?? '', dayOf(code.redeemed_at ?? '')],
          ]),
          next,
          command: ['codes', 'list'],
          page: options,
          none: 'No codes. To create some:  millrace codes create 10.00',
        }),
      )
    },
  )
  codes
    .command('withdraw <code>')
    .description('withdraw an unredeemed code, by its id or its text')
    .action(async (code: string) => {
      await context.operate('codes.withdraw', { code }, ({ id, shown, state }) => ({
        data: `${id} (${shown}) is ${state} and cannot be redeemed.\n`,
      }))
    })
  codes
    .command('redeem <code>')
    .description('redeem a code for an account')
    .requiredOption('--account <account>', 'id or email')
    .action(async (code: string, { account }: { account: string }) => {
      await context.operate('codes.redeem', { code, account }, ({ amount, email, wallet }) => ({
        data: `Credited ${amount} USD to ${email}. Available now: ${wallet.available} USD.\n`,
      }))
    })
}
