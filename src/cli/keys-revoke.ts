import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { confirmByName } from './confirm-by-name.ts'

export function addKeysRevoke(keys: Command, context: CommandContext): void {
  keys
    .command('revoke <key>')
    .description('end a key for good; requests that are running finish')
    .option('-y, --yes', 'do not ask')
    .action(async (key: string, { yes }: { yes?: boolean }) => {
      const found = await context.operate('keys.show', { key })
      if (found === undefined) return
      const act = { what: `Revoking key ${found.id} of ${found.email}`, name: found.name, yes: yes === true }
      if (!(await confirmByName(context, act))) return
      await context.operate('keys.revoke', { key }, (revoked) => ({
        data: `Revoked "${revoked.name}" (${revoked.id}). It is refused from now on.\n`,
      }))
    })
}
