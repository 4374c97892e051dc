import type { Command } from 'commander'
import { type CommandContext, inPages, type PageOptions, parseCount } from './command-context.ts'
import { countOf, dayOf } from './format.ts'

interface CreateOptions {
  readonly count: number
  readonly note: string
  readonly expires?: string
}

export function addCodes(program: Command, context: CommandContext): void {
  const codes = program.command('codes').description('manage redemption codes; each adds its amount to one wallet')
  codes
    .command('create <amount>')
    .description('create codes and print them once; anyone with a code can redeem it')
    .option('--count <n>', 'number of codes, at most 100', parseCount, 1)
    .option('--note <text>', 'a note for operators', '')
    .option('--expires <when>', 'a date (2027-01-31) or a span (90d); default: never')
    .action((amount: string, options: CreateOptions) =>
      context.operate('codes.create', { amount, ...options }, ({ items }) => ({
        before: `Created ${countOf(items.length, 'code')} of ${items[0]?.code.amount} USD, shown only once:\n`,
        data: items.map(({ secret }) => `${secret}\n`).join(''),
        note: 'Anyone with a code can redeem it once. To withdraw one:  millrace codes withdraw CODE\n',
      })),
    )
  inPages(codes.command('list').description('list codes without their text, newest first')).action(
    (options: PageOptions) =>
      context.list('codes.list', options, {
        columns: ['id', 'code', 'amount', 'state', 'note', 'created', 'expires', 'redeemed by', 'redeemed'],
        row: (code) => [
          ...[code.id, code.shown, code.amount, code.state, code.note, dayOf(code.created_at)],
          ...[dayOf(code.expires_at ?? 'never'), code.redeemed_by ?? '', dayOf(code.redeemed_at ?? '')],
        ],
        command: ['codes', 'list'],
        none: 'No codes. To create some:  millrace codes create 10.00',
      }),
  )
  codes
    .command('withdraw <code>')
    .description('withdraw an unredeemed code, by its id or its text')
    .action((code: string) =>
      context.operate('codes.withdraw', { code }, ({ id, shown, state }) => ({
        data: `${id} (${shown}) is ${state} and cannot be redeemed.\n`,
      })),
    )
  codes
    .command('redeem <code>')
    .description('redeem a code for an account')
    .requiredOption('--account <account>', 'id or email')
    .action((code: string, { account }: { account: string }) =>
      context.operate('codes.redeem', { code, account }, ({ amount, email, wallet }) => ({
        data: `Credited ${amount} USD to ${email}. Available now: ${wallet.available} USD.\n`,
      })),
    )
}
