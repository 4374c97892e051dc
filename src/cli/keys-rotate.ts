import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'

export function addKeysRotate(keys: Command, context: CommandContext): void {
  keys
    .command('rotate <key>')
    .description('give a key a new secret; caps, limits and its id stay')
    .requiredOption('--grace <span>', 'how long the former secret goes on working: 0, or up to 30d, e.g. 1h, 24h, 7d')
    .action(async (key: string, { grace }: { grace: string }) => {
      await context.operate('keys.rotate', { key, grace }, (rotated) => ({
        before: `Rotated ${rotated.kind} key "${rotated.name}" (${rotated.id}). This is the only time the new secret is shown:\n`,
        data: `${rotated.key}\n`,
        aside:
          rotated.former === null
            ? 'The former secret is refused from now on.\n'
            : `The former one (${rotated.former.shown}) works until ${rotated.former.until}.\n`,
      }))
    })
}
