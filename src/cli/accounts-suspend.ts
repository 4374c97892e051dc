import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'

export function addAccountsSuspend(accounts: Command, context: CommandContext): void {
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
