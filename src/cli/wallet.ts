import type { Command } from 'commander'
import type { OperationArgs } from '../admin/operations.ts'
import { type CommandContext, inPages, type PageOptions } from './command-context.ts'
import { formatFacts } from './format.ts'

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
