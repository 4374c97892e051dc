import type { Command } from 'commander'
import type { KeyStanding } from './cli-services.ts'
import type { CommandContext } from './command-context.ts'

export function addGauge(program: Command, context: CommandContext): void {
  program
    .command('gauge')
    .description('print what an API key has left in one line, for a status line; reads the key from MILLRACE_KEY')
    .option('--url <url>', 'base URL of the server; default: OPENAI_BASE_URL, else http://127.0.0.1:4600/v1')
    .action(async ({ url }: { url?: string }) => {
      const read = await context.services.readKeyStanding(url)
      if (read.kind === 'failed') return context.fail(read.exit, read.message)
      context.print(read.standing, { data: `${describeStanding(read.standing)}\n` })
    })
}

/** `$9.42 · day $3.80 of $5.00 · 5h $10.50 of $12.00` */
export function describeStanding({ wallet, caps, windows }: KeyStanding): string {
  const wholes = wallet === null ? [] : [dollars(wallet.available)]
  const parts = [...caps, ...windows].map(({ name, limit, left, holder }) => {
    const whose = holder === undefined || holder === 'key' ? name : `${holder} ${name}`
    const [isLeft, of] = name.includes('_') ? [left, limit] : [dollars(left), dollars(limit)]
    return `${whose} ${isLeft} of ${of}`
  })
  return [...wholes, ...parts].join(' · ') || 'no limit'
}

/** Whole cents, never more than there is. */
function dollars(amount: string): string {
  const [whole, cents = ''] = amount.split('.')
  return `$${whole}.${cents.slice(0, 2).padEnd(2, '0')}`
}
