import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { parseCount } from './parse-count.ts'
import { formatTable } from './table.ts'

interface WishesOptions {
  readonly after?: string
  readonly limit: number
}

const COLUMNS = ['account', 'amount', 'since', 'note'].map((title) => ({ title }))

export function addWalletWishes(wallet: Command, context: CommandContext): void {
  wallet
    .command('wishes')
    .description('who has asked for funds; a credit answers it')
    .option('--after <page>', 'the end of the page before')
    .option('--limit <n>', 'how many, at most 200', parseCount, 50)
    .action(async ({ after, limit }: WishesOptions) => {
      const args = { limit, ...(after !== undefined && { after }) }
      await context.operate('wallet.wishes', args, ({ items, next }, style) => {
        if (items.length === 0) return { data: '', aside: 'Nobody waits for funds.\n' }
        const rows = items.map(({ email, amount, at, note }) => [email, amount, at, note])
        const data = formatTable(style, COLUMNS, rows)
        return next === null ? { data } : { data, aside: `There are more:  millrace wallet wishes --after ${next}\n` }
      })
    })
}
