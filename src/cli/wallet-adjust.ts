import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'

interface AdjustOptions {
  readonly take?: boolean
  readonly reason: string
  readonly ref: string
}

export function addWalletAdjust(wallet: Command, context: CommandContext): void {
  wallet
    .command('adjust <account> <amount>')
    .description('make a mistake good, in USD: add to the balance, or with --take take from it')
    .option('--take', 'take the amount away')
    .requiredOption('--reason <text>', 'why, for the books')
    .requiredOption('--ref <reference>', 'your own reference: the same one twice adjusts once')
    .action(async (account: string, amount: string, { take, reason, ref }: AdjustOptions) => {
      const direction = take ? 'take' : 'add'
      await context.operate('wallet.adjust', { account, amount, direction, reason, ref }, (adjusted) => ({
        data: adjusted.repeated
          ? `Already adjusted under ref ${adjusted.ref}. Nothing was moved.\n`
          : `Adjusted ${adjusted.email} by ${adjusted.amount} USD.\n`,
        aside: `Available now: ${adjusted.available} USD.\n`,
      }))
    })
}
