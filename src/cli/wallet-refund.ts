import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'

export function addWalletRefund(wallet: Command, context: CommandContext): void {
  wallet
    .command('refund <account> <amount>')
    .description('take prepaid balance out again, in USD, because it was paid back')
    .requiredOption('--reason <text>', 'why, for the books')
    .requiredOption('--ref <reference>', 'your own reference: the same one twice refunds once')
    .action(async (account: string, amount: string, { reason, ref }: { reason: string; ref: string }) => {
      await context.operate('wallet.refund', { account, amount, reason, ref }, (refund) => ({
        data: refund.repeated
          ? `Already refunded under ref ${refund.ref}. Nothing was taken.\n`
          : `Refunded ${amount} USD of ${refund.email}.\n`,
        aside: `Available now: ${refund.available} USD.\n`,
      }))
    })
}
