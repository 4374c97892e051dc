import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { planInWords } from './format-subscription.ts'
import { formatFacts } from './table.ts'

export function addAccountsShow(accounts: Command, context: CommandContext): void {
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
          ['plan', planInWords(shown.plan)],
          ['active keys', String(shown.active_keys)],
        ]),
      }))
    })
}
