import type { Command } from 'commander'
import type { FormerSecret } from '../account/keys/key-view.ts'
import { shellWord } from '../lib/anywhere/shell-word.ts'
import type { CommandContext } from './command-context.ts'
import { EXIT } from './exit-codes.ts'
import { columnsOf, dayOf, formatFacts } from './format.ts'
import { formatPeriods } from './format-subscription.ts'
import { addCaps, addChange, addCreate, capsInWords } from './key-terms.ts'
import { inPages, type PageOptions, showList } from './lists.ts'

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
            ...[capsInWords(key.caps), dayOf(key.expires_at ?? 'never'), key.email],
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
