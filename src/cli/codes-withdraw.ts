import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'

export function addCodesWithdraw(codes: Command, context: CommandContext): void {
  codes
    .command('withdraw <code>')
    .description('end a code that nobody has redeemed, by its id or its text')
    .action(async (code: string) => {
      await context.operate('codes.withdraw', { code }, (withdrawn) => ({
        data: `${withdrawn.id} (${withdrawn.shown}) is ${withdrawn.state}: nobody can redeem it.\n`,
      }))
    })
}
