import { type Command, InvalidArgumentError } from 'commander'
import type { OperationArgs } from '../account/operations.ts'
import { capsInWords } from './caps-in-words.ts'
import type { CommandContext } from './command-context.ts'
import { EXIT } from './exit-codes.ts'
import { parseCount } from './parse-count.ts'

interface ChangeOptions {
  readonly name?: string
  readonly models?: string
  readonly expires?: string
  readonly capDay?: string
  readonly capMonth?: string
  readonly requestsPerMinute?: number | 'none'
  readonly tokensPerMinute?: number | 'none'
  readonly concurrent?: number | 'none'
}

export function addKeysChange(keys: Command, context: CommandContext): void {
  keys
    .command('change <key>')
    .description('the terms of a key, all in one act; what is not named stays')
    .option('--name <name>', 'what you know it by')
    .option('--models <list>', 'only these models: ids or globs, separated by commas; or all')
    .option('--expires <when>', 'a date (2027-01-31) or a span (30d, 12h); or never')
    .option('--cap-day <usd>', 'what it may spend in a day of UTC, e.g. 5.00; or none')
    .option('--cap-month <usd>', 'what it may spend in a month of UTC; or none')
    .option('--requests-per-minute <n>', 'limit of its own; or none', countOrNone)
    .option('--tokens-per-minute <n>', 'limit of its own; or none', countOrNone)
    .option('--concurrent <n>', 'how many requests at once; or none', countOrNone)
    .action(async (key: string, options: ChangeOptions) => {
      if (Object.keys(options).length === 0) {
        context.fail(EXIT.usage, 'Say what shall change. See: millrace keys change --help')
        return
      }
      await context.operate('keys.change', { key, ...termsOf(options) }, (changed) => ({
        data: `"${changed.name}" (${changed.id}) may call ${changed.models?.join(', ') ?? 'all models'} and spend ${capsInWords(changed.caps)}.\n`,
      }))
    })
}

const termsOf = (options: ChangeOptions): Omit<OperationArgs<'keys.change'>, 'key'> => ({
  ...(options.name !== undefined && { name: options.name }),
  ...(options.models !== undefined && { models: modelsOf(options.models) }),
  ...(options.expires !== undefined && { expires: unlessWord(options.expires, 'never') }),
  caps: {
    ...(options.capDay !== undefined && { day: unlessWord(options.capDay, 'none') }),
    ...(options.capMonth !== undefined && { month: unlessWord(options.capMonth, 'none') }),
  },
  limits: {
    ...(options.requestsPerMinute !== undefined && { requests_per_minute: limitOf(options.requestsPerMinute) }),
    ...(options.tokensPerMinute !== undefined && { tokens_per_minute: limitOf(options.tokensPerMinute) }),
    ...(options.concurrent !== undefined && { concurrent: limitOf(options.concurrent) }),
  },
})

const modelsOf = (text: string) => (text === 'all' ? null : text.split(',').map((model) => model.trim()))

const limitOf = (limit: number | 'none') => (limit === 'none' ? null : limit)

const unlessWord = (text: string, word: string) => (text === word ? null : text)

/** Null is taken for an option without a value, so the word stays until the terms are made. */
function countOrNone(text: string): number | 'none' {
  if (text === 'none') return text
  try {
    return parseCount(text)
  } catch {
    throw new InvalidArgumentError('It must be a whole number above zero, or none.')
  }
}
