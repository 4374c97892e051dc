import type { Command } from 'commander'
import type { AdminScope } from '../contract/admin-keys.ts'
import { type CommandContext, inPages, type PageOptions, parseList } from './command-context.ts'
import { dayOf } from './format.ts'

interface CreateOptions {
  readonly name: string
  readonly scopes: string
  readonly expires?: string
  readonly account?: string
}

export function addAdminKeys(program: Command, context: CommandContext): void {
  const keys = program.command('admin-keys').description('manage keys of the management API at /admin/v1')
  keys
    .command('create')
    .description('create an admin key and print it once')
    .requiredOption('--name <name>', 'name of the key')
    .requiredOption(
      '--scopes <list>',
      'what it may do, separated by commas, e.g. accounts:read,keys:write; or admin, or scim',
    )
    .option('--expires <when>', 'a date (2027-01-31) or a span (90d, 12h); default: never')
    .option('--account <id-or-email>', 'for the scope scim: the account whose people it manages')
    .action(({ name, scopes, expires, account }: CreateOptions) => {
      // The operation checks them, and lists the scopes that there are.
      const named = parseList(scopes) as AdminScope[]
      return context.operate(
        'admin-keys.create',
        { name, scopes: named, ...(expires !== undefined && { expires }), ...(account !== undefined && { account }) },
        (key) => ({
          before: `Created admin key "${key.name}" (${key.id}) for ${key.scopes.join(', ')}. It is shown only once:\n`,
          data: `${key.secret}\n`,
          note: `To revoke it:  millrace admin-keys revoke ${key.id}\n`,
        }),
      )
    })
  inPages(keys.command('list').description('list admin keys without their secrets, newest first')).action(
    (options: PageOptions) =>
      context.list('admin-keys.list', options, {
        columns: ['id', 'name', 'key', 'state', 'scopes', 'expires', 'last used'],
        row: (key) => [
          ...[key.id, key.name, key.shown, key.state, key.scopes.join(',')],
          ...[dayOf(key.expires_at ?? 'never'), key.last_used_at ?? 'never'],
        ],
        command: ['admin-keys', 'list'],
        none: 'No admin keys yet. To create one:  millrace admin-keys create --name CI --scopes accounts:read',
      }),
  )
  keys
    .command('revoke <key>')
    .description('revoke an admin key permanently, on all nodes at once')
    .action((key: string) =>
      context.operate('admin-keys.revoke', { key }, (revoked) => ({
        data: `Revoked "${revoked.name}" (${revoked.id}). It is rejected from now on.\n`,
        ...(revoked.made.length > 0 && { note: `Keys that it has made still work: ${revoked.made.join(', ')}\n` }),
      })),
    )
}
