import { type Command, Option } from 'commander'
import type { CapsView } from '../account/keys/key-view.ts'
import type { OperationArgs } from '../account/operations.ts'
import type { CommandContext } from './command-context.ts'
import { EXIT } from './exit-codes.ts'
import { parseCount, parseCountOrNone, parseList } from './option-values.ts'

/** What a key is about: as `keys create` and `keys change` are told it. A word takes something away. */
interface TermOptions {
  readonly name?: string
  readonly models?: string
  readonly expires?: string
  readonly capDay?: string
  readonly capMonth?: string
  readonly requestsPerMinute?: number | 'none'
  readonly tokensPerMinute?: number | 'none'
  readonly concurrent?: number | 'none'
}

interface CreateOptions extends TermOptions {
  readonly account: string
  readonly kind: 'wallet' | 'builder'
  readonly name: string
}

export function addCreate(keys: Command, context: CommandContext): void {
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
    .action(async ({ account, kind, name, ...options }: CreateOptions) => {
      await context.operate('keys.create', { account, kind, name, ...termsOf(options) }, (key) => ({
        before: `Made ${key.kind} key "${key.name}" (${key.id}). This is the only time it is shown:\n`,
        data: `${key.key}\n`,
        ...(key.kind === 'builder' && {
          aside: 'A builder key draws on a subscription only, never on the wallet.\n',
        }),
      }))
    })
}

export function addChange(keys: Command, context: CommandContext): void {
  keys
    .command('change <key>')
    .description('the terms of a key, all in one act; what is not named stays')
    .option('--name <name>', 'what you know it by')
    .option('--models <list>', 'only these models: ids or globs, separated by commas; or all')
    .option('--expires <when>', 'a date (2027-01-31) or a span (30d, 12h); or never')
    .option('--cap-day <usd>', 'what it may spend in a day of UTC, e.g. 5.00; or none')
    .option('--cap-month <usd>', 'what it may spend in a month of UTC; or none')
    .option('--requests-per-minute <n>', 'limit of its own; or none', parseCountOrNone)
    .option('--tokens-per-minute <n>', 'limit of its own; or none', parseCountOrNone)
    .option('--concurrent <n>', 'how many requests at once; or none', parseCountOrNone)
    .action(async (key: string, { name, ...options }: TermOptions) => {
      const terms = { ...(name !== undefined && { name }), ...termsOf(options) }
      if (Object.keys(terms).length === 0) {
        context.fail(EXIT.usage, 'Say what shall change. See: millrace keys change --help')
        return
      }
      await context.operate('keys.change', { key, ...terms }, (changed) => ({
        data: `"${changed.name}" (${changed.id}) may call ${changed.models?.join(', ') ?? 'all models'} and spend ${capsInWords(changed.caps)}.\n`,
      }))
    })
}

export function addCaps(keys: Command, context: CommandContext): void {
  keys
    .command('caps <key>')
    .description('what a key may spend in a day or a month of UTC; counts at once')
    .option('--day <usd>', 'e.g. 5.00, or none')
    .option('--month <usd>', 'e.g. 50.00, or none')
    .action(async (key: string, { day, month }: { day?: string; month?: string }) => {
      if (day === undefined && month === undefined) {
        context.fail(EXIT.usage, 'Say --day, --month or both, in USD; none takes a cap away. See: millrace keys show')
        return
      }
      await context.operate('keys.caps', { key, ...capsOf(day, month) }, (changed) => ({
        data: `"${changed.name}" (${changed.id}) may spend ${capsInWords(changed.caps)}.\n`,
      }))
    })
}

type Terms = Omit<OperationArgs<'keys.change'>, 'key' | 'name'>

/** Only what was said is in here: the rest stays, or is nothing special. */
function termsOf(options: Omit<TermOptions, 'name'>): Terms {
  const { models, expires, capDay, capMonth, requestsPerMinute, tokensPerMinute, concurrent } = options
  const caps = capsOf(capDay, capMonth)
  const limits = {
    ...(requestsPerMinute !== undefined && { requests_per_minute: unlessWord(requestsPerMinute, 'none') }),
    ...(tokensPerMinute !== undefined && { tokens_per_minute: unlessWord(tokensPerMinute, 'none') }),
    ...(concurrent !== undefined && { concurrent: unlessWord(concurrent, 'none') }),
  }
  return {
    ...(models !== undefined && { models: models === 'all' ? null : parseList(models) }),
    ...(expires !== undefined && { expires: unlessWord(expires, 'never') }),
    ...(Object.keys(caps).length > 0 && { caps }),
    ...(Object.keys(limits).length > 0 && { limits }),
  }
}

const capsOf = (day: string | undefined, month: string | undefined) => ({
  ...(day !== undefined && { day: unlessWord(day, 'none') }),
  ...(month !== undefined && { month: unlessWord(month, 'none') }),
})

const unlessWord = <Value, Word extends string>(value: Value | Word, word: Word) =>
  value === word ? null : (value as Exclude<Value, Word>)

/** `5.00 a day, 50.00 a month`, or `without a cap`. */
export const capsInWords = ({ day, month }: CapsView): string => {
  const words = [day && `${day} USD a day`, month && `${month} USD a month`].filter(Boolean)
  return words.length === 0 ? 'without a cap' : words.join(', ')
}
