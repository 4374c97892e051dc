import type { Command } from 'commander'
import { type CommandContext, inPages, type PageOptions, showList } from './command-context.ts'
import { columnsOf, formatFacts } from './format.ts'

export function addWallet(program: Command, context: CommandContext): void {
  const wallet = program.command('wallet').description('prepaid balances')
  addCredit(wallet, context)
  addRefund(wallet, context)
  addAdjust(wallet, context)
  addShow(wallet, context)
  addEntries(wallet, context)
  addWishes(wallet, context)
}

interface MoveOptions {
  readonly reason: string
  readonly ref: string
}

function addCredit(wallet: Command, context: CommandContext): void {
  wallet
    .command('credit <account> <amount>')
    .description('add prepaid balance, in USD')
    .requiredOption('--reason <text>', 'why, for the books')
    .requiredOption('--ref <reference>', 'your own reference: the same one twice credits once')
    .action(async (account: string, amount: string, { reason, ref }: MoveOptions) => {
      await context.operate('wallet.credit', { account, amount, reason, ref }, (credit) => ({
        data: credit.repeated
          ? `Already credited: ${credit.amount} USD to ${credit.email} under ref ${credit.ref}. Nothing was added.\n`
          : `Credited ${credit.amount} USD to ${credit.email}.\n`,
        aside: `Available now: ${credit.available} USD.\n`,
      }))
    })
}

function addRefund(wallet: Command, context: CommandContext): void {
  wallet
    .command('refund <account> <amount>')
    .description('take prepaid balance out again, in USD, because it was paid back')
    .requiredOption('--reason <text>', 'why, for the books')
    .requiredOption('--ref <reference>', 'your own reference: the same one twice refunds once')
    .action(async (account: string, amount: string, { reason, ref }: MoveOptions) => {
      await context.operate('wallet.refund', { account, amount, reason, ref }, (refund) => ({
        data: refund.repeated
          ? `Already refunded under ref ${refund.ref}. Nothing was taken.\n`
          : `Refunded ${amount} USD of ${refund.email}.\n`,
        aside: `Available now: ${refund.available} USD.\n`,
      }))
    })
}

function addAdjust(wallet: Command, context: CommandContext): void {
  wallet
    .command('adjust <account> <amount>')
    .description('make a mistake good, in USD: add to the balance, or with --take take from it')
    .option('--take', 'take the amount away')
    .requiredOption('--reason <text>', 'why, for the books')
    .requiredOption('--ref <reference>', 'your own reference: the same one twice adjusts once')
    .action(async (account: string, amount: string, { take, reason, ref }: MoveOptions & { take?: boolean }) => {
      const direction = take ? 'take' : 'add'
      await context.operate('wallet.adjust', { account, amount, direction, reason, ref }, (adjusted) => ({
        data: adjusted.repeated
          ? `Already adjusted under ref ${adjusted.ref}. Nothing was moved.\n`
          : `Adjusted ${adjusted.email} by ${adjusted.amount} USD.\n`,
        aside: `Available now: ${adjusted.available} USD.\n`,
      }))
    })
}

function addShow(wallet: Command, context: CommandContext): void {
  wallet
    .command('show <account>')
    .description('what an account has, and how much of it running requests hold')
    .action(async (account: string) => {
      await context.operate('wallet.show', { account }, (standing, style) => ({
        data: formatFacts(style, [
          ['account', `${standing.email} (${standing.account})`],
          ['balance', `${standing.balance} USD`],
          ['held', `${standing.held} USD`],
          ['available', `${standing.available} USD`],
        ]),
      }))
    })
}

const ENTRY_COLUMNS = columnsOf('time', 'kind', '>USD', 'ref', 'reason')

function addEntries(wallet: Command, context: CommandContext): void {
  inPages(wallet.command('entries <account>').description('credits, refunds and adjustments, newest first')).action(
    async (account: string, options: PageOptions) => {
      await context.operate('wallet.entries', { account, ...options }, ({ items, next }, style) =>
        showList(style, {
          columns: ENTRY_COLUMNS,
          rows: items.map(({ at, kind, amount, ref, reason }) => [at, kind, amount, ref, reason]),
          next,
          command: ['wallet', 'entries', account],
          page: options,
          none: 'Nothing has been credited to this wallet yet.',
        }),
      )
    },
  )
}

const WISH_COLUMNS = columnsOf('account', 'amount', 'since', 'note')

function addWishes(wallet: Command, context: CommandContext): void {
  inPages(wallet.command('wishes').description('who has asked for funds; a credit answers it')).action(
    async (options: PageOptions) => {
      await context.operate('wallet.wishes', options, ({ items, next }, style) =>
        showList(style, {
          columns: WISH_COLUMNS,
          rows: items.map(({ email, amount, at, note }) => [email, amount, at, note]),
          next,
          command: ['wallet', 'wishes'],
          page: options,
          none: 'Nobody waits for funds.',
        }),
      )
    },
  )
}
