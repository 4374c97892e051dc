import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { formatTable } from './table.ts'

export function addWalletEntries(wallet: Command, context: CommandContext): void {
  wallet
    .command('entries <account>')
    .description('credits, refunds and adjustments, newest first')
    .action(async (account: string) => {
      await context.operate('wallet.entries', { account }, ({ entries }, style) => {
        if (entries.length === 0) return { data: '', aside: 'Nothing has been credited to this wallet yet.\n' }
        const columns = [
          { title: 'time' },
          { title: 'kind' },
          { title: 'USD', align: 'right' as const },
          { title: 'ref' },
          { title: 'reason' },
        ]
        const rows = entries.map((entry) => [entry.at, entry.kind, entry.amount, entry.ref, entry.reason])
        return { data: formatTable(style, columns, rows) }
      })
    })
}
