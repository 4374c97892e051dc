import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'

export function addAccountsCreate(accounts: Command, context: CommandContext): void {
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
