import type { Command } from 'commander'
import { addFiles } from './apply.ts'
import { type CommandContext, inPages, type PageOptions } from './command-context.ts'
import { dayOf, formatFacts } from './format.ts'
import { type CapOptions, capTermsOf, describeCaps, withCaps } from './people.ts'
import { describePlan } from './plans.ts'

export function addAccounts(program: Command, context: CommandContext): void {
  const accounts = program.command('accounts').description('manage accounts')
  accounts
    .command('create')
    .description('create an account with an empty wallet')
    .requiredOption('--email <address>', 'email of its owner; commands accept it instead of the id')
    .action(({ email }: { email: string }) =>
      context.operate('accounts.create', { email }, (account) => ({
        before: `Created an account for ${account.email}:\n`,
        data: `${account.id}\n`,
        note: `Its wallet is empty. To add funds:  millrace wallet credit ${account.email} 10.00 --reason "first credit" --ref first\n`,
      })),
    )
  inPages(accounts.command('list').description('list accounts with their balance, newest first'))
    .option('--search <text>', 'only accounts with this text in email or id')
    .action((options: PageOptions & { search?: string }) => {
      const { search } = options
      return context.list('accounts.list', options, {
        columns: ['id', 'email', 'status', '>available USD', 'plan', '>keys', 'since'],
        row: ({ id, email, status, wallet, plan, keys, created_at: since }) => [
          ...[id, email, status, wallet.available, plan ?? '-', String(keys), dayOf(since)],
        ],
        command: ['accounts', 'list', ...(search === undefined ? [] : ['--search', search])],
        none:
          search === undefined
            ? 'No accounts yet. To create one:  millrace accounts create --email you@example.com'
            : 'No account has this text in its email or id.',
      })
    })
  accounts
    .command('show <account>')
    .description('show an account, by id or email')
    .action((account: string) =>
      context.operate('accounts.show', { account }, (shown, style) => ({
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
      })),
    )
  addFiles(accounts, context)
  accounts
    .command('suspend <account>')
    .description('reject all keys of an account until it is activated')
    .action((account: string) =>
      context.operate('accounts.suspend', { account }, ({ email, id }) => ({
        data: `Suspended ${email} (${id}). Its keys are rejected from now on.\n`,
        note: `To undo:  millrace accounts activate ${email}\n`,
      })),
    )
  withCaps(
    accounts.command('new-key-caps <account>').description('set the caps that new keys of an account get'),
  ).action((account: string, options: CapOptions) =>
    context.operate('accounts.new-key-caps', { account, ...capTermsOf(options) }, ({ caps }) => ({
      data: `New keys may spend ${describeCaps(caps)}.\n`,
    })),
  )
  accounts
    .command('activate <account>')
    .description('accept the keys of a suspended account again')
    .action((account: string) =>
      context.operate('accounts.activate', { account }, ({ email, id }) => ({
        data: `Activated ${email} (${id}).\n`,
      })),
    )
}
