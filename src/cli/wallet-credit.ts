import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'

export function addWalletCredit(wallet: Command, context: CommandContext): void {
  wallet
    .command('credit <account> <amount>')
    .description('add prepaid balance, in USD')
    .requiredOption('--reason <text>', 'why, for the books')
    .requiredOption('--ref <reference>', 'your own reference: the same one twice credits once')
    .action(async (account: string, amount: string, { reason, ref }: { reason: string; ref: string }) => {
      await context.operate('wallet.credit', { account, amount, reason, ref }, (credit) => ({
        data: credit.repeated
          ? `Already credited: ${credit.amount} USD to ${credit.email} under ref ${credit.ref}. Nothing was added.\n`
          : `Credited ${credit.amount} USD to ${credit.email}.\n`,
        aside: `Available now: ${credit.available} USD.\n`,
      }))
    })
}
