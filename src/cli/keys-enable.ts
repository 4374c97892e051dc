import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'

export function addKeysEnable(keys: Command, context: CommandContext): void {
  keys
    .command('enable <key>')
    .description('let a disabled key in again')
    .action(async (key: string) => {
      await context.operate('keys.enable', { key }, (enabled) => ({
        data: `Enabled "${enabled.name}" (${enabled.id}).\n`,
      }))
    })
}
