import type { Command } from 'commander'
import type { OperationArgs } from '../admin/operations.ts'
import { type CommandContext, inPages, type PageOptions, parseCount } from './command-context.ts'
import { countOf, dayOf, formatFacts } from './format.ts'

type MoveOptions = Pick<OperationArgs<'wallet.credit'>, 'reason' | 'ref'>

export function addWallet(program: Command, context: CommandContext): void {
  const wallet = program.command('wallet').description('manage prepaid balances')
  addMoves(wallet, context)
  wallet
    .command('show <account>')
    .description('show the balance of an account, and how much of it is held by running requests')
    .action((account: string) =>
      context.operate('wallet.show', { account }, (shown, style) => ({
        data: formatFacts(style, [
          ['account', `${shown.email} (${shown.account})`],
          ['balance', `${shown.balance} USD`],
          ['held', `${shown.held} USD`],
          ['available', `${shown.available} USD`],
        ]),
      })),
    )
  inPages(
    wallet.command('entries <account>').description('list credits, refunds and adjustments, newest first'),
  ).action((account: string, options: PageOptions) =>
    context.list(
      'wallet.entries',
      { account, ...options },
      {
        columns: ['time', 'kind', '>USD', 'ref', 'reason'],
        row: ({ at, kind, amount, ref, reason }) => [at, kind, amount, ref, reason],
        command: ['wallet', 'entries', account],
        none: 'This wallet has no entries yet.',
      },
    ),
  )
  inPages(wallet.command('wishes').description('list open funding requests; a credit closes them')).action(
    (options: PageOptions) =>
      context.list('wallet.wishes', options, {
        columns: ['account', 'amount', 'since', 'note'],
        row: ({ email, amount, at, note }) => [email, amount, at, note],
        command: ['wallet', 'wishes'],
        none: 'No open funding requests.',
      }),
  )
}

function addMoves(wallet: Command, context: CommandContext): void {
  const move = (name: string, description: string, verb: string): Command =>
    wallet
      .command(`${name} <account> <amount>`)
      .description(description)
      .requiredOption('--reason <text>', 'reason; the account owner sees it in the statement')
      .requiredOption('--ref <reference>', `your own reference; repeating it ${verb} nothing`)
  move('credit', 'add prepaid balance, in USD', 'credits').action(
    (account: string, amount: string, { reason, ref }: MoveOptions) =>
      context.operate('wallet.credit', { account, amount, reason, ref }, (credit) => ({
        data: credit.repeated
          ? `Already credited: ${credit.amount} USD to ${credit.email} under ref ${credit.ref}. Nothing was added.\n`
          : `Credited ${credit.amount} USD to ${credit.email}.\n`,
        note: `Available now: ${credit.available} USD.\n`,
      })),
  )
  move('refund', 'subtract prepaid balance that was paid back, in USD', 'refunds').action(
    (account: string, amount: string, { reason, ref }: MoveOptions) =>
      context.operate('wallet.refund', { account, amount, reason, ref }, (refund) => ({
        data: refund.repeated
          ? `Already refunded under ref ${refund.ref}. Nothing was taken.\n`
          : `Refunded ${amount} USD to ${refund.email}.\n`,
        note: `Available now: ${refund.available} USD.\n`,
      })),
  )
  move('adjust', 'correct the balance, in USD: add, or subtract with --take', 'adjusts')
    .option('--take', 'subtract the amount')
    .action(async (account: string, amount: string, { take, reason, ref }: MoveOptions & { take?: boolean }) => {
      const direction = take ? 'take' : 'add'
      await context.operate('wallet.adjust', { account, amount, direction, reason, ref }, (adjusted) => ({
        data: adjusted.repeated
          ? `Already adjusted under ref ${adjusted.ref}. Nothing was changed.\n`
          : `Adjusted ${adjusted.email} by ${adjusted.amount} USD.\n`,
        note: `Available now: ${adjusted.available} USD.\n`,
      }))
    })
}

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

export function addPayments(program: Command, context: CommandContext): void {
  const payments = program.command('payments').description('look at payments by card, and compare them with Stripe')
  inPages(payments.command('list').description('list payments of all accounts, newest first'))
    .option('--owed', 'only those that were refunded or disputed when the wallet was spent')
    .action((options: PageOptions & { readonly owed?: boolean }) =>
      context.list('payments.list', options, {
        columns: ['id', 'account', 'kind', 'state', 'amount', 'refunded', 'disputed', 'owed', 'created'],
        row: (payment) => [
          ...[payment.id, payment.email, payment.kind.replace('_', ' '), payment.state, payment.amount],
          ...[payment.refunded, payment.disputed, payment.owed, dayOf(payment.created_at)],
        ],
        command: ['payments', 'list', ...(options.owed === true ? ['--owed'] : [])],
        none: options.owed === true ? 'No wallet owes anything.' : 'No payments by card.',
      }),
    )
  payments
    .command('reconcile')
    .description('compare the payments of the last days with Stripe, and credit what was missed')
    .option('--days <n>', 'how far back, at most 90; default: 3', parseCount)
    .action((options: { readonly days?: number }) =>
      context.operate('payments.reconcile', options, ({ checked, foreign, differences, failures, owed }) => ({
        data: [
          `Compared ${countOf(checked, 'entry', 'entries')} of Stripe, ${foreign} of them not of this server.`,
          ...differences.map(({ payment, before, after }) => `${payment}: ${before} -> ${after}`),
          `${countOf(differences.length, 'difference')}, all brought to the wallets. Owed by wallets: ${owed} USD.`,
          ...failures.map((failure) => `Failed: ${failure}`),
        ]
          .map((text) => `${text}\n`)
          .join(''),
      })),
    )
}
