import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'

export function addKeysDisable(keys: Command, context: CommandContext): void {
  keys
    .command('disable <key>')
    .description('refuse a key until it is enabled again')
    .action(async (key: string) => {
      await context.operate('keys.disable', { key }, (disabled) => ({
        data: `Disabled "${disabled.name}" (${disabled.id}).\n`,
        aside: `To let it in again:  millrace keys enable ${disabled.id}\n`,
      }))
    })
}
