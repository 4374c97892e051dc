import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { parseCount } from './parse-count.ts'
import { formatTable } from './table.ts'

interface ListOptions {
  readonly after?: string
  readonly limit: number
}

const COLUMNS = ['id', 'code', 'amount', 'state', 'note', 'created', 'expires', 'redeemed by', 'redeemed'].map(
  (title) => ({ title }),
)

export function addCodesList(codes: Command, context: CommandContext): void {
  codes
    .command('list')
    .description('codes, newest first; never their text')
    .option('--after <code>', 'the id of the last one of the page before')
    .option('--limit <n>', 'how many, at most 200', parseCount, 50)
    .action(async ({ after, limit }: ListOptions) => {
      await context.operate(
        'codes.list',
        { limit, ...(after !== undefined && { after }) },
        ({ items, next }, style) => {
          if (items.length === 0) return { data: '', aside: 'No codes. To make some:  millrace codes create 10.00\n' }
          const rows = items.map((code) => [
            ...[code.id, code.shown, code.amount, code.state, code.note, code.created_at.slice(0, 10)],
            ...[code.expires_at?.slice(0, 10) ?? 'never', code.redeemed_by ?? '', code.redeemed_at?.slice(0, 10) ?? ''],
          ])
          const data = formatTable(style, COLUMNS, rows)
          return next === null ? { data } : { data, aside: `There are more:  millrace codes list --after ${next}\n` }
        },
      )
    })
}
