import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { formatTable } from './table.ts'

export function addAccountsList(accounts: Command, context: CommandContext): void {
  accounts
    .command('list')
    .description('every account, with what it may spend')
    .action(async () => {
      await context.operate('accounts.list', {}, ({ accounts }, style) => {
        if (accounts.length === 0) {
          return {
            data: '',
            aside: 'There is no account yet. To make one:  millrace accounts create --email you@example.com\n',
          }
        }
        const columns = [
          { title: 'id' },
          { title: 'email' },
          { title: 'status' },
          { title: 'available USD', align: 'right' as const },
          { title: 'keys', align: 'right' as const },
          { title: 'since' },
        ]
        return {
          data: formatTable(
            style,
            columns,
            accounts.map((account) => [
              account.id,
              account.email,
              account.status,
              account.wallet.available,
              String(account.active_keys),
              account.created_at.slice(0, 10),
            ]),
          ),
        }
      })
    })
}
