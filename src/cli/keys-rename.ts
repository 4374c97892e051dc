import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'

export function addKeysRename(keys: Command, context: CommandContext): void {
  keys
    .command('rename <key> <name>')
    .description('give a key another name; the secret stays')
    .action(async (key: string, name: string) => {
      await context.operate('keys.rename', { key, name }, (renamed) => ({
        data: `${renamed.id} is now called "${renamed.name}".\n`,
      }))
    })
}
