import type { Command } from 'commander'
import { type CommandContext, inPages, type PageOptions, parseCount, showList } from './command-context.ts'
import { columnsOf, countOf, dayOf } from './format.ts'

export function addCodes(program: Command, context: CommandContext): void {
  const codes = program.command('codes').description('codes that are worth money to whoever redeems them first')
  addCreate(codes, context)
  addList(codes, context)
  addWithdraw(codes, context)
  addRedeem(codes, context)
}

interface CreateOptions {
  readonly count: number
  readonly note: string
  readonly expires?: string
}

function addCreate(codes: Command, context: CommandContext): void {
  codes
    .command('create <amount>')
    .description('codes that whoever has one can redeem, each once; prints them, this once')
    .option('--count <n>', 'how many, at most 100', parseCount, 1)
    .option('--note <text>', 'what you will know them by', '')
    .option('--expires <when>', 'a date (2027-01-31) or a span (90d); never unless said')
    .action(async (amount: string, options: CreateOptions) => {
      await context.operate('codes.create', { amount, ...options }, ({ items }) => ({
        before: `Made ${countOf(items.length, 'code')} of ${items[0]?.code.amount} USD. This is the only time they are shown:\n`,
        data: items.map(({ secret }) => `${secret}\n`).join(''),
        aside: 'Whoever has one can redeem it, once. To take one back:  millrace codes withdraw CODE\n',
      }))
    })
}

const COLUMNS = columnsOf('id', 'code', 'amount', 'state', 'note', 'created', 'expires', 'redeemed by', 'redeemed')

function addList(codes: Command, context: CommandContext): void {
  inPages(codes.command('list').description('codes, newest first; never their text')).action(
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
          none: 'No codes. To make some:  millrace codes create 10.00',
        }),
      )
    },
  )
}

function addWithdraw(codes: Command, context: CommandContext): void {
  codes
    .command('withdraw <code>')
    .description('end a code that nobody has redeemed, by its id or its text')
    .action(async (code: string) => {
      await context.operate('codes.withdraw', { code }, (withdrawn) => ({
        data: `${withdrawn.id} (${withdrawn.shown}) is ${withdrawn.state}: nobody can redeem it.\n`,
      }))
    })
}

function addRedeem(codes: Command, context: CommandContext): void {
  codes
    .command('redeem <code>')
    .description('redeem a code for an account')
    .requiredOption('--account <account>', 'id or e-mail')
    .action(async (code: string, { account }: { account: string }) => {
      await context.operate('codes.redeem', { code, account }, ({ amount, email, wallet }) => ({
        data: `Credited ${amount} USD to ${email}. The wallet has ${wallet.available} USD.\n`,
      }))
    })
}
