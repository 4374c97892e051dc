import { type Command, Option } from 'commander'
import type { OperationArgs } from '../admin/operations.ts'
import type { AdminScope } from '../contract/admin-keys.ts'
import { shellWord } from '../lib/anywhere/text.ts'
import { readRunRuleText, runRuleText } from '../model/run.ts'
import { readStepDownText, stepDownText } from '../model/step-down.ts'
import { EXIT } from './cli-services.ts'
import {
  type CommandContext,
  inPages,
  type PageOptions,
  parseCount,
  parseCountOrNone,
  parseList,
} from './command-context.ts'
import { dayOf, formatFacts } from './format.ts'
import { addRaise, type CapOptions, capTermsOf, describeCaps, raisedLine, withCaps } from './people.ts'
import { formatPeriods } from './plans.ts'

export function addKeys(program: Command, context: CommandContext): void {
  const keys = program.command('keys').description('manage API keys')
  addCreate(keys, context)
  addQueries(keys, context)
  addSwitches(keys, context)
  addChanges(keys, context)
}

function addQueries(keys: Command, context: CommandContext): void {
  inPages(keys.command('list').description('list keys without their secrets, newest first'))
    .option('--account <account>', 'only keys of one account: id or email')
    .action((options: PageOptions & { account?: string }) => {
      const { account } = options
      const none = account === undefined ? 'No keys yet' : 'That account has no keys'
      return context.list('keys.list', options, {
        columns: ['id', 'name', 'kind', 'key', 'state', 'models', 'caps', 'expires', 'account'],
        row: (key) => [
          ...[key.id, key.name, key.kind, key.shown, key.state, key.models?.join(',') ?? 'all'],
          ...[describeCaps(key.caps), dayOf(key.expires_at ?? 'never'), key.email],
        ],
        command: ['keys', 'list', ...(account === undefined ? [] : ['--account', account])],
        none: `${none}. To create one:  millrace keys create --account ${shellWord(account ?? 'A')} --kind wallet --name N`,
      })
    })
  keys
    .command('show <key>')
    .description('show a key without its secret, and what is left of its spend caps')
    .action((key: string) =>
      context.operate('keys.show', { key }, (shown, style) => {
        const facts = formatFacts(style, [
          ['id', shown.id],
          ['name', shown.name],
          ['kind', shown.kind],
          ['key', shown.shown],
          ['former key', shown.former && `${shown.former.shown}, until ${shown.former.until}`],
          ['of', shown.playground ? "the console's playground" : null],
          ['account', `${shown.email} (${shown.account})`],
          ['state', shown.state],
          ['models', shown.models?.join(',') ?? 'all'],
          ['addresses', shown.addresses?.join(', ') ?? 'any'],
          ['run', shown.run && runRuleText(shown.run)],
          ['steps down to', shown.step_down && stepDownText(shown.step_down)],
          ['expires', shown.expires_at ?? 'never'],
          ['created', shown.created_at],
        ])
        return { data: shown.spent.length === 0 ? facts : `${facts}\n${formatPeriods(style, 'cap', shown.spent)}` }
      }),
    )
}

function addSwitches(keys: Command, context: CommandContext): void {
  keys
    .command('revoke <key>')
    .description('revoke a key permanently; running requests finish')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (key: string, { yes }: { yes?: boolean }) => {
      const found = await context.call('keys.show', { key })
      if (found === undefined) return
      const what = `Revoking key ${found.id} of ${found.email}`
      if (yes !== true && !(await confirmByName(context, what, found.name))) return
      await context.operate('keys.revoke', { key }, (revoked) => ({
        data: `Revoked "${revoked.name}" (${revoked.id}). It is rejected from now on.\n`,
      }))
    })
  keys
    .command('disable <key>')
    .description('reject a key until it is enabled')
    .action((key: string) =>
      context.operate('keys.disable', { key }, (disabled) => ({
        data: `Disabled "${disabled.name}" (${disabled.id}).\n`,
        note: `To undo:  millrace keys enable ${disabled.id}\n`,
      })),
    )
  keys
    .command('enable <key>')
    .description('accept a disabled key again')
    .action((key: string) =>
      context.operate('keys.enable', { key }, (enabled) => ({
        data: `Enabled "${enabled.name}" (${enabled.id}).\n`,
      })),
    )
}

/** Asks for the name before an action that cannot be undone. Fails without a terminal. */
async function confirmByName(context: CommandContext, what: string, name: string): Promise<boolean> {
  const { terminal } = context.services
  if (!terminal.interactive) {
    context.fail(EXIT.usage, `${what} cannot be undone and needs confirmation. Repeat the command with --yes.`)
    return false
  }
  const answer = await terminal.ask(`${what} cannot be undone. Type its name (${name}) to continue: `)
  if (answer?.trim() === name) return true
  context.fail(EXIT.failure, 'The name did not match. Nothing was changed.')
  return false
}

/** The terms of `keys create` and `keys change`. A word removes one. */
interface TermOptions {
  readonly name?: string
  readonly models?: string
  readonly expires?: string
  readonly capDay?: string
  readonly capMonth?: string
  readonly requestsPerMinute?: number | 'none'
  readonly tokensPerMinute?: number | 'none'
  readonly concurrent?: number | 'none'
  readonly addresses?: string
  readonly run?: string
  readonly stepDown?: string
}

const RUN_RULE = 'required: each request names a run; or the budget of each conversation, e.g. "max=0.50; ends=2h"'

const STEP_DOWN = 'the cheaper model near a cap, with a share that is left or without, e.g. "fast-coder 10%"'

type CreateOptions = TermOptions & Pick<OperationArgs<'keys.create'>, 'account' | 'kind' | 'name' | 'person' | 'team'>

function addCreate(keys: Command, context: CommandContext): void {
  keys
    .command('create')
    .description('create a key and print it once')
    .requiredOption('--account <account>', 'id or email')
    .addOption(
      new Option('--kind <kind>', 'what pays for it: the wallet, or a Builder subscription')
        .choices(['wallet', 'builder'])
        .makeOptionMandatory(),
    )
    .requiredOption('--name <name>', 'name of the key')
    .option('--person <person>', 'whose key it is, for life: a person of the account, by email or id')
    .option('--team <team>', 'the team of the key, for life, by id')
    .option('--models <list>', 'allowed models: ids or globs, separated by commas')
    .option('--expires <when>', 'a date (2027-01-31) or a span (30d, 12h)')
    .option('--cap-day <usd>', 'spend cap per day (UTC), e.g. 5.00')
    .option('--cap-month <usd>', 'spend cap per month (UTC)')
    .option('--requests-per-minute <n>', 'rate limit of this key', parseCount)
    .option('--tokens-per-minute <n>', 'token limit of this key', parseCount)
    .option('--concurrent <n>', 'concurrent requests', parseCount)
    .option('--addresses <list>', 'the only client addresses: IPs or networks (10.0.0.0/8), separated by commas')
    .option('--run <rule>', RUN_RULE)
    .option('--step-down <model>', STEP_DOWN)
    .action(({ account, kind, name, person, team, ...options }: CreateOptions) => {
      const owners = { ...(person !== undefined && { person }), ...(team !== undefined && { team }) }
      return context.operate('keys.create', { account, kind, name, ...owners, ...termsOf(options) }, (key) => ({
        before: `Created ${key.kind} key "${key.name}" (${key.id}). It is shown only once:\n`,
        data: `${key.key}\n`,
        ...(key.kind === 'builder' && {
          note: 'A builder key is paid by a subscription only, never by the wallet.\n',
        }),
      }))
    })
}

function addChanges(keys: Command, context: CommandContext): void {
  keys
    .command('rename <key> <name>')
    .description('rename a key; its secret does not change')
    .action((key: string, name: string) =>
      context.operate('keys.rename', { key, name }, (renamed) => ({
        data: `${renamed.id} is now called "${renamed.name}".\n`,
      })),
    )
  withCaps(keys.command('caps <key>').description('set caps of a key in periods of UTC, effective at once')).action(
    (key: string, options: CapOptions) => {
      const caps = capTermsOf(options)
      if (Object.keys(caps).length === 0)
        return context.fail(
          EXIT.usage,
          'Give at least one cap, such as --day 5.00; none removes it. See: millrace keys show',
        )
      return context.operate('keys.caps', { key, ...caps }, (changed) => ({
        data: `"${changed.name}" (${changed.id}) may spend ${describeCaps(changed.caps)}.\n`,
      }))
    },
  )
  addRaise(keys, 'key', (key, raise) => context.operate('keys.raise', { key, ...raise }, raisedLine))
  keys
    .command('change <key>')
    .description('change one or more settings of a key; the others do not change')
    .option('--name <name>', 'name of the key')
    .option('--models <list>', 'allowed models: ids or globs, separated by commas; or all')
    .option('--expires <when>', 'a date (2027-01-31) or a span (30d, 12h); or never')
    .option('--cap-day <usd>', 'spend cap per day (UTC), e.g. 5.00; or none')
    .option('--cap-month <usd>', 'spend cap per month (UTC); or none')
    .option('--requests-per-minute <n>', 'rate limit of this key; or none', parseCountOrNone)
    .option('--tokens-per-minute <n>', 'token limit of this key; or none', parseCountOrNone)
    .option('--concurrent <n>', 'concurrent requests; or none', parseCountOrNone)
    .option(
      '--addresses <list>',
      'the only client addresses: IPs or networks (10.0.0.0/8), separated by commas; or any',
    )
    .option('--run <rule>', `${RUN_RULE}; or none`)
    .option('--step-down <model>', `${STEP_DOWN}; or none`)
    .action((key: string, { name, ...options }: TermOptions) => {
      const terms = { ...(name !== undefined && { name }), ...termsOf(options) }
      if (Object.keys(terms).length === 0) {
        return context.fail(EXIT.usage, 'Name at least one term to change. See: millrace keys change --help')
      }
      return context.operate('keys.change', { key, ...terms }, (changed) => ({
        data: `"${changed.name}" (${changed.id}) may call ${changed.models?.join(', ') ?? 'all models'} and spend ${describeCaps(changed.caps)}.\n`,
      }))
    })
  keys
    .command('rotate <key>')
    .description('give a key a new secret; its id, caps and limits do not change')
    .requiredOption('--grace <span>', 'how long the former secret still works: 0, or up to 30d, e.g. 1h, 24h, 7d')
    .action((key: string, { grace }: { grace: string }) =>
      context.operate('keys.rotate', { key, grace }, (rotated) => ({
        before: `Rotated ${rotated.kind} key "${rotated.name}" (${rotated.id}). The new secret is shown only once:\n`,
        data: `${rotated.key}\n`,
        note:
          rotated.former === null
            ? 'The former secret is rejected from now on.\n'
            : `The former secret (${rotated.former.shown}) works until ${rotated.former.until}.\n`,
      })),
    )
}

type Terms = Omit<OperationArgs<'keys.change'>, 'key' | 'name'>

/** Only the given terms. */
function termsOf(options: Omit<TermOptions, 'name'>): Terms {
  const {
    models,
    addresses,
    run,
    stepDown,
    expires,
    capDay,
    capMonth,
    requestsPerMinute,
    tokensPerMinute,
    concurrent,
  } = options
  const caps = capsOf(capDay, capMonth)
  const limits = {
    ...(requestsPerMinute !== undefined && { requests_per_minute: nullIf(requestsPerMinute, 'none') }),
    ...(tokensPerMinute !== undefined && { tokens_per_minute: nullIf(tokensPerMinute, 'none') }),
    ...(concurrent !== undefined && { concurrent: nullIf(concurrent, 'none') }),
  }
  return {
    ...(models !== undefined && { models: models === 'all' ? null : parseList(models) }),
    ...(addresses !== undefined && { addresses: addresses === 'any' ? null : parseList(addresses) }),
    ...(run !== undefined && { run: run === 'none' ? null : readRunRuleText(run) }),
    ...(stepDown !== undefined && { step_down: stepDown === 'none' ? null : readStepDownText(stepDown) }),
    ...(expires !== undefined && { expires: nullIf(expires, 'never') }),
    ...(Object.keys(caps).length > 0 && { caps }),
    ...(Object.keys(limits).length > 0 && { limits }),
  }
}

const capsOf = (day: string | undefined, month: string | undefined) => ({
  ...(day !== undefined && { day: nullIf(day, 'none') }),
  ...(month !== undefined && { month: nullIf(month, 'none') }),
})

const nullIf = <Value, Word extends string>(value: Value | Word, word: Word) =>
  value === word ? null : (value as Exclude<Value, Word>)

interface AdminKeyOptions {
  readonly name: string
  readonly scopes: string
  readonly expires?: string
  readonly account?: string
}

export function addAdminKeys(program: Command, context: CommandContext): void {
  const keys = program.command('admin-keys').description('manage keys of the management API at /admin/v1')
  keys
    .command('create')
    .description('create an admin key and print it once')
    .requiredOption('--name <name>', 'name of the key')
    .requiredOption(
      '--scopes <list>',
      'what it may do, separated by commas, e.g. accounts:read,keys:write; or admin, or scim',
    )
    .option('--expires <when>', 'a date (2027-01-31) or a span (90d, 12h); default: never')
    .option('--account <id-or-email>', 'for the scope scim: the account whose people it manages')
    .action(({ name, scopes, expires, account }: AdminKeyOptions) => {
      // The operation checks them, and lists the scopes that there are.
      const named = parseList(scopes) as AdminScope[]
      return context.operate(
        'admin-keys.create',
        { name, scopes: named, ...(expires !== undefined && { expires }), ...(account !== undefined && { account }) },
        (key) => ({
          before: `Created admin key "${key.name}" (${key.id}) for ${key.scopes.join(', ')}. It is shown only once:\n`,
          data: `${key.secret}\n`,
          note: `To revoke it:  millrace admin-keys revoke ${key.id}\n`,
        }),
      )
    })
  inPages(keys.command('list').description('list admin keys without their secrets, newest first')).action(
    (options: PageOptions) =>
      context.list('admin-keys.list', options, {
        columns: ['id', 'name', 'key', 'state', 'scopes', 'expires', 'last used'],
        row: (key) => [
          ...[key.id, key.name, key.shown, key.state, key.scopes.join(',')],
          ...[dayOf(key.expires_at ?? 'never'), key.last_used_at ?? 'never'],
        ],
        command: ['admin-keys', 'list'],
        none: 'No admin keys yet. To create one:  millrace admin-keys create --name CI --scopes accounts:read',
      }),
  )
  keys
    .command('revoke <key>')
    .description('revoke an admin key permanently, on all nodes at once')
    .action((key: string) =>
      context.operate('admin-keys.revoke', { key }, (revoked) => ({
        data: `Revoked "${revoked.name}" (${revoked.id}). It is rejected from now on.\n`,
        ...(revoked.made.length > 0 && { note: `Keys that it has made still work: ${revoked.made.join(', ')}\n` }),
      })),
    )
}
