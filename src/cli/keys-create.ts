import type { Command } from 'commander'
import { Option } from 'commander'
import type { CommandContext } from './command-context.ts'
import { parseCount } from './parse-count.ts'

interface CreateOptions {
  readonly account: string
  readonly kind: 'wallet' | 'builder'
  readonly name: string
  readonly models?: string
  readonly expires?: string
  readonly capDay?: string
  readonly capMonth?: string
  readonly requestsPerMinute?: number
  readonly tokensPerMinute?: number
  readonly concurrent?: number
}

export function addKeysCreate(keys: Command, context: CommandContext): void {
  keys
    .command('create')
    .description('make a key; it is shown this once')
    .requiredOption('--account <account>', 'id or e-mail')
    .addOption(
      new Option('--kind <kind>', 'what it draws on: the prepaid balance, or the subscription')
        .choices(['wallet', 'builder'])
        .makeOptionMandatory(),
    )
    .requiredOption('--name <name>', 'what you will know it by')
    .option('--models <list>', 'only these models: ids or globs, separated by commas')
    .option('--expires <when>', 'a date (2027-01-31) or a span (30d, 12h)')
    .option('--cap-day <usd>', 'what it may spend in a day of UTC, e.g. 5.00')
    .option('--cap-month <usd>', 'what it may spend in a month of UTC')
    .option('--requests-per-minute <n>', 'limit of its own', parseCount)
    .option('--tokens-per-minute <n>', 'limit of its own', parseCount)
    .option('--concurrent <n>', 'how many requests at once', parseCount)
    .action(async (options: CreateOptions) => {
      await context.operate('keys.create', argsOf(options), (key) => ({
        before: `Made ${key.kind} key "${key.name}" (${key.id}). This is the only time it is shown:\n`,
        data: `${key.key}\n`,
        ...(key.kind === 'builder' && {
          aside: 'A builder key draws on a subscription only, never on the wallet.\n',
        }),
      }))
    })
}

const argsOf = (options: CreateOptions) => ({
  account: options.account,
  kind: options.kind,
  name: options.name,
  ...(options.models !== undefined && { models: options.models.split(',').map((model) => model.trim()) }),
  ...(options.expires !== undefined && { expires: options.expires }),
  caps: {
    ...(options.capDay !== undefined && { day: options.capDay }),
    ...(options.capMonth !== undefined && { month: options.capMonth }),
  },
  limits: {
    ...(options.requestsPerMinute !== undefined && { requests_per_minute: options.requestsPerMinute }),
    ...(options.tokensPerMinute !== undefined && { tokens_per_minute: options.tokensPerMinute }),
    ...(options.concurrent !== undefined && { concurrent: options.concurrent }),
  },
})
