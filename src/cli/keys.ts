import { type Command, Option } from 'commander'
import type { CapsView, FormerSecret } from '../admin/key-views.ts'
import type { OperationArgs } from '../admin/operations.ts'
import { shellWord } from '../lib/anywhere/text.ts'
import { EXIT } from './cli-deps.ts'
import {
  type CommandContext,
  inPages,
  type PageOptions,
  parseCount,
  parseCountOrNone,
  parseList,
  showList,
} from './command-context.ts'
import { columnsOf, dayOf, formatFacts } from './format.ts'
import { formatPeriods } from './plans.ts'

export function addKeys(program: Command, context: CommandContext): void {
  const keys = program.command('keys').description('the keys that programs call with')
  addCreate(keys, context)
  addList(keys, context)
  addShow(keys, context)
  addRevoke(keys, context)
  addDisable(keys, context)
  addEnable(keys, context)
  addRename(keys, context)
  addCaps(keys, context)
  addChange(keys, context)
  addRotate(keys, context)
}

interface ListOptions extends PageOptions {
  readonly account?: string
}

const COLUMNS = columnsOf('id', 'name', 'kind', 'key', 'state', 'models', 'caps', 'expires', 'account')

function addList(keys: Command, context: CommandContext): void {
  inPages(keys.command('list').description('keys, newest first; never their secrets'))
    .option('--account <account>', 'only those of one account: id or e-mail')
    .action(async (options: ListOptions) => {
      const { account } = options
      await context.operate('keys.list', options, ({ items, next }, style) =>
        showList(style, {
          columns: COLUMNS,
          rows: items.map((key) => [
            ...[key.id, key.name, key.kind, key.shown, key.state, key.models?.join(',') ?? 'all'],
            ...[describeCaps(key.caps), dayOf(key.expires_at ?? 'never'), key.email],
          ]),
          next,
          command: ['keys', 'list', ...(account === undefined ? [] : ['--account', account])],
          page: options,
          none: noneOf(account),
        }),
      )
    })
}

const noneOf = (account: string | undefined) =>
  `${account === undefined ? 'No keys yet' : 'That account has no keys'}. To make one:  millrace keys create --account ${shellWord(account ?? 'A')} --kind wallet --name N`

function addShow(keys: Command, context: CommandContext): void {
  keys
    .command('show <key>')
    .description('one key, never its secret, and what is left of its spend caps')
    .action(async (key: string) => {
      await context.operate('keys.show', { key }, (shown, style) => {
        const facts = formatFacts(style, [
          ['id', shown.id],
          ['name', shown.name],
          ['kind', shown.kind],
          ['key', shown.shown],
          ...(shown.former === null ? [] : [formerFact(shown.former)]),
          ...(shown.playground ? [['of', "the console's playground"] as const] : []),
          ['account', `${shown.email} (${shown.account})`],
          ['state', shown.state],
          ['models', shown.models?.join(',') ?? 'all'],
          ['expires', shown.expires_at ?? 'never'],
          ['created', shown.created_at],
        ])
        return { data: shown.spent.length === 0 ? facts : `${facts}\n${formatPeriods(style, 'cap', shown.spent)}` }
      })
    })
}

const formerFact = ({ shown, until }: FormerSecret) => ['former key', `${shown}, until ${until}`] as const

function addRevoke(keys: Command, context: CommandContext): void {
  keys
    .command('revoke <key>')
    .description('end a key for good; requests that are running finish')
    .option('-y, --yes', 'do not ask')
    .action(async (key: string, { yes }: { yes?: boolean }) => {
      const found = await context.operate('keys.show', { key })
      if (found === undefined) return
      const act = { what: `Revoking key ${found.id} of ${found.email}`, name: found.name, yes: yes === true }
      if (!(await confirmByName(context, act))) return
      await context.operate('keys.revoke', { key }, (revoked) => ({
        data: `Revoked "${revoked.name}" (${revoked.id}). It is refused from now on.\n`,
      }))
    })
}

/** What cannot be undone is done only after its name was typed, or with `--yes`; without a terminal nothing is asked. */
async function confirmByName(
  context: CommandContext,
  act: { readonly what: string; readonly name: string; readonly yes: boolean },
): Promise<boolean> {
  if (act.yes) return true
  const { terminal } = context.deps
  if (!terminal.interactive) {
    context.fail(EXIT.usage, `${act.what} cannot be undone, and nobody can be asked here. Repeat with --yes.`)
    return false
  }
  const answer = await terminal.ask(`${act.what} cannot be undone. Type its name (${act.name}) to go on: `)
  if (answer?.trim() === act.name) return true
  context.fail(EXIT.failure, 'The name did not match; nothing was changed.')
  return false
}

function addDisable(keys: Command, context: CommandContext): void {
  keys
    .command('disable <key>')
    .description('refuse a key until it is enabled again')
    .action(async (key: string) => {
      await context.operate('keys.disable', { key }, (disabled) => ({
        data: `Disabled "${disabled.name}" (${disabled.id}).\n`,
        aside: `To let it in again:  millrace keys enable ${disabled.id}\n`,
      }))
    })
}

function addEnable(keys: Command, context: CommandContext): void {
  keys
    .command('enable <key>')
    .description('let a disabled key in again')
    .action(async (key: string) => {
      await context.operate('keys.enable', { key }, (enabled) => ({
        data: `Enabled "${enabled.name}" (${enabled.id}).\n`,
      }))
    })
}

function addRename(keys: Command, context: CommandContext): void {
  keys
    .command('rename <key> <name>')
    .description('give a key another name; the secret stays')
    .action(async (key: string, name: string) => {
      await context.operate('keys.rename', { key, name }, (renamed) => ({
        data: `${renamed.id} is now called "${renamed.name}".\n`,
      }))
    })
}

function addRotate(keys: Command, context: CommandContext): void {
  keys
    .command('rotate <key>')
    .description('give a key a new secret; caps, limits and its id stay')
    .requiredOption('--grace <span>', 'how long the former secret goes on working: 0, or up to 30d, e.g. 1h, 24h, 7d')
    .action(async (key: string, { grace }: { grace: string }) => {
      await context.operate('keys.rotate', { key, grace }, (rotated) => ({
        before: `Rotated ${rotated.kind} key "${rotated.name}" (${rotated.id}). This is the only time the new secret is shown:\n`,
        data: `${rotated.key}\n`,
        aside:
          rotated.former === null
            ? 'The former secret is refused from now on.\n'
            : `The former one (${rotated.former.shown}) works until ${rotated.former.until}.\n`,
      }))
    })
}

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

function addCreate(keys: Command, context: CommandContext): void {
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

function addChange(keys: Command, context: CommandContext): void {
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
        data: `"${changed.name}" (${changed.id}) may call ${changed.models?.join(', ') ?? 'all models'} and spend ${describeCaps(changed.caps)}.\n`,
      }))
    })
}

function addCaps(keys: Command, context: CommandContext): void {
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
        data: `"${changed.name}" (${changed.id}) may spend ${describeCaps(changed.caps)}.\n`,
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
const describeCaps = ({ day, month }: CapsView): string => {
  const words = [day && `${day} USD a day`, month && `${month} USD a month`].filter(Boolean)
  return words.length === 0 ? 'without a cap' : words.join(', ')
}
