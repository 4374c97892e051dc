import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'

export function addAccountsActivate(accounts: Command, context: CommandContext): void {
  accounts
    .command('activate <account>')
    .description('let the keys of a suspended account in again')
    .action(async (account: string) => {
      await context.operate('accounts.activate', { account }, (activated) => ({
        data: `Activated ${activated.email} (${activated.id}).\n`,
      }))
    })
}
