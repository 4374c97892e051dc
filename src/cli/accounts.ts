import type { Command } from 'commander'
import { type CommandContext, inPages, type PageOptions, showList } from './command-context.ts'
import { columnsOf, dayOf, formatFacts } from './format.ts'
import { describePlan } from './plans.ts'

export function addAccounts(program: Command, context: CommandContext): void {
  const accounts = program.command('accounts').description('who uses this server')
  addCreate(accounts, context)
  addList(accounts, context)
  addShow(accounts, context)
  addSuspend(accounts, context)
  addActivate(accounts, context)
}

function addCreate(accounts: Command, context: CommandContext): void {
  accounts
    .command('create')
    .description('make an account with an empty wallet')
    .requiredOption('--email <address>', 'the address of its owner; commands take it in place of the id')
    .action(async ({ email }: { email: string }) => {
      await context.operate('accounts.create', { email }, (account) => ({
        data: `${account.id}\n`,
        before: `Made an account for ${account.email}:\n`,
        aside: `Its wallet is empty. To fill it:  millrace wallet credit ${account.email} 10.00 --reason "first credit" --ref first\n`,
      }))
    })
}

interface ListOptions extends PageOptions {
  readonly search?: string
}

const COLUMNS = columnsOf('id', 'email', 'status', '>available USD', 'plan', '>keys', 'since')

function addList(accounts: Command, context: CommandContext): void {
  inPages(accounts.command('list').description('accounts with what they may spend, newest first'))
    .option('--search <text>', 'only those that have it in e-mail or id')
    .action(async (options: ListOptions) => {
      await context.operate('accounts.list', options, ({ items, next }, style) =>
        showList(style, {
          columns: COLUMNS,
          rows: items.map(({ id, email, status, wallet, plan, keys, created_at: since }) => [
            ...[id, email, status, wallet.available, plan ?? '-', String(keys), dayOf(since)],
          ]),
          next,
          command: ['accounts', 'list', ...(options.search === undefined ? [] : ['--search', options.search])],
          page: options,
          none:
            options.search === undefined
              ? 'There is no account yet. To make one:  millrace accounts create --email you@example.com'
              : 'No account has that in its e-mail or id.',
        }),
      )
    })
}

function addShow(accounts: Command, context: CommandContext): void {
  accounts
    .command('show <account>')
    .description('one account, by id or e-mail')
    .action(async (account: string) => {
      await context.operate('accounts.show', { account }, (shown, style) => ({
        data: formatFacts(style, [
          ['id', shown.id],
          ['email', shown.email],
          ['status', shown.status],
          ['since', shown.created_at],
          ['balance', `${shown.wallet.balance} USD`],
          ['held', `${shown.wallet.held} USD`],
          ['available', `${shown.wallet.available} USD`],
          ['plan', describePlan(shown.plan)],
          ['active keys', String(shown.active_keys)],
        ]),
      }))
    })
}

function addSuspend(accounts: Command, context: CommandContext): void {
  accounts
    .command('suspend <account>')
    .description('refuse every key of an account until it is activated again')
    .action(async (account: string) => {
      await context.operate('accounts.suspend', { account }, (suspended) => ({
        data: `Suspended ${suspended.email} (${suspended.id}). Its keys are refused from now on.\n`,
        aside: `To let them in again:  millrace accounts activate ${suspended.email}\n`,
      }))
    })
}

function addActivate(accounts: Command, context: CommandContext): void {
  accounts
    .command('activate <account>')
    .description('let the keys of a suspended account in again')
    .action(async (account: string) => {
      await context.operate('accounts.activate', { account }, (activated) => ({
        data: `Activated ${activated.email} (${activated.id}).\n`,
      }))
    })
}
