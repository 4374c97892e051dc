import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'

export function addCodesRedeem(codes: Command, context: CommandContext): void {
  codes
    .command('redeem <code>')
    .description('redeem a code for an account')
    .requiredOption('--account <account>', 'id or e-mail')
    .action(async (code: string, { account }: { account: string }) => {
      await context.operate('codes.redeem', { code, account }, ({ amount, email, wallet }) => ({
        data: `Credited ${amount} USD to ${email}. The wallet has ${wallet.available} USD.\n`,
      }))
    })
}
