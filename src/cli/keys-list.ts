import type { Command } from 'commander'
import { capsInWords } from './caps-in-words.ts'
import type { CommandContext } from './command-context.ts'
import { formatTable } from './table.ts'

export function addKeysList(keys: Command, context: CommandContext): void {
  keys
    .command('list')
    .description('keys, never their secrets')
    .option('--account <account>', 'only those of one account: id or e-mail')
    .action(async ({ account }: { account?: string }) => {
      await context.operate('keys.list', account === undefined ? {} : { account }, ({ keys }, style) => {
        if (keys.length === 0) {
          return {
            data: '',
            aside: 'No keys yet. To make one:  millrace keys create --account A --kind wallet --name N\n',
          }
        }
        const columns = ['id', 'name', 'kind', 'key', 'state', 'models', 'caps', 'expires', 'account'].map((title) => ({
          title,
        }))
        const rows = keys.map((key) => [
          key.id,
          key.name,
          key.kind,
          key.shown,
          key.state,
          key.models?.join(',') ?? 'all',
          capsInWords(key.caps),
          key.expires_at?.slice(0, 10) ?? 'never',
          key.email,
        ])
        return { data: formatTable(style, columns, rows) }
      })
    })
}
