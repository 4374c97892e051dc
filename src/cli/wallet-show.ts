import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { formatFacts } from './table.ts'

export function addWalletShow(wallet: Command, context: CommandContext): void {
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
