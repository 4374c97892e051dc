import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { formatTable } from './table.ts'

const COLUMNS = ['id', 'email', 'role', 'account', 'state', 'since'].map((title) => ({ title }))

export function addPeopleList(people: Command, context: CommandContext): void {
  people
    .command('list [account]')
    .description('everybody who may sign in, or those of one account')
    .action(async (account: string | undefined) => {
      await context.operate('people.list', account === undefined ? {} : { account }, ({ people: all }, style) => {
        const aside =
          'Nobody has signed up yet. To let somebody:  millrace people invite you@example.com --role operator\n'
        if (all.length === 0) return { data: '', aside }
        const rows = all.map(({ id, email, role, account: of, disabled_at: disabledAt, created_at: since }) => [
          ...[id, email, role, of ?? '-'],
          disabledAt === null ? 'active' : 'disabled',
          since.slice(0, 10),
        ])
        return { data: formatTable(style, COLUMNS, rows) }
      })
    })
}
