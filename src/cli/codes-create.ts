import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { countOf } from './count-of.ts'
import { parseCount } from './parse-count.ts'

interface CreateOptions {
  readonly count: number
  readonly note: string
  readonly expires?: string
}

export function addCodesCreate(codes: Command, context: CommandContext): void {
  codes
    .command('create <amount>')
    .description('codes that whoever has one can redeem, each once; prints them, this once')
    .option('--count <n>', 'how many, at most 100', parseCount, 1)
    .option('--note <text>', 'what you will know them by', '')
    .option('--expires <when>', 'a date (2027-01-31) or a span (90d); never unless said')
    .action(async (amount: string, { count, note, expires }: CreateOptions) => {
      const args = { amount, count, note, ...(expires !== undefined && { expires }) }
      await context.operate('codes.create', args, ({ items }) => ({
        before: `Made ${countOf(items.length, 'code')} of ${items[0]?.code.amount} USD. This is the only time they are shown:\n`,
        data: items.map(({ secret }) => `${secret}\n`).join(''),
        aside: 'Whoever has one can redeem it, once. To take one back:  millrace codes withdraw CODE\n',
      }))
    })
}
