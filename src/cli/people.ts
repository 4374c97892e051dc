import { type Command, Option } from 'commander'
import type { CapsView, CapView } from '../admin/caps.ts'
import { role } from '../contract/people.ts'
import type { Role } from '../db/people-tables.ts'
import { shellWord } from '../lib/anywhere/text.ts'
import { CAP_NAMES, type CapName } from '../model/allowance.ts'
import { EXIT } from './cli-services.ts'
import { type CommandContext, inPages, type PageOptions, parseCountOrNone } from './command-context.ts'
import { dayOf, formatFacts, type Style } from './format.ts'
import { formatPeriods } from './plans.ts'

export function addTeams(program: Command, context: CommandContext): void {
  const teams = program.command('teams').description('manage teams, whose keys share budgets inside one account')
  withCaps(
    teams
      .command('create <name>')
      .description('create a team of an account')
      .requiredOption('--account <account>', 'id or email'),
  ).action((name: string, { account, ...options }: CapOptions & { account: string }) =>
    context.operate('teams.create', { account, name, caps: capTermsOf(options) }, (team) => ({
      data: `Created team "${team.name}" (${team.id}): ${describeCaps(team.caps)}.\n`,
      note: `To create a key of it:  millrace keys create --account ${account} --team ${team.id} --kind wallet --name NAME\n`,
    })),
  )
  inPages(teams.command('list <account>').description('list the teams of an account, archived ones included')).action(
    (account: string, options: PageOptions) =>
      context.list(
        'teams.list',
        { ...options, account },
        {
          columns: ['id', 'name', 'keys', 'caps', 'state', 'since'],
          row: ({ id, name, keys, caps, archived_at: archivedAt, created_at: since }) => [
            ...[id, name, String(keys), describeCaps(caps), archivedAt === null ? 'open' : 'archived', dayOf(since)],
          ],
          command: ['teams', 'list', account],
          none: `That account has no teams. To create one:  millrace teams create NAME --account ${account}`,
        },
      ),
  )
  teams
    .command('show <team>')
    .description('show a team, and what is left of its budgets')
    .action((team: string) =>
      context.operate('teams.show', { team }, (shown, style) => ({
        data: formatTeam(style, shown),
      })),
    )
  withCaps(
    teams
      .command('change <team>')
      .description('change budgets of a team, effective at once, or its name; archive it')
      .option('--name <name>', 'name of the team')
      .option('--archive', 'take no new keys')
      .option('--open', 'take new keys again'),
  ).action(
    (
      team: string,
      { name, archive, open, ...options }: CapOptions & { name?: string; archive?: true; open?: true },
    ) => {
      const caps = capTermsOf(options)
      const isArchived = archive === true ? true : open === true ? false : undefined
      if (name === undefined && isArchived === undefined && Object.keys(caps).length === 0)
        return context.fail(EXIT.usage, 'Name at least one term to change. See: millrace teams change --help')
      const terms = {
        ...(name !== undefined && { name }),
        ...(isArchived !== undefined && { archived: isArchived }),
        caps,
      }
      return context.operate('teams.change', { team, ...terms }, (changed, style) => ({
        data: formatTeam(style, changed),
      }))
    },
  )
  addRaise(teams, 'team', (team, raise) => context.operate('teams.raise', { team, ...raise }, raisedLine))
}

interface Team {
  readonly id: string
  readonly name: string
  readonly account: string
  readonly keys: number
  readonly spent: readonly CapView[]
  readonly archived_at: string | null
}

function formatTeam(style: Style, { id, name, account, keys, spent, archived_at: archivedAt }: Team): string {
  const facts = formatFacts(style, [
    ...([
      ['id', id],
      ['name', name],
      ['account', account],
      ['keys', String(keys)],
    ] as const),
    ['archived', archivedAt],
  ])
  return spent.length === 0 ? facts : `${facts}\n${formatPeriods(style, 'cap', spent)}`
}

/** `--requests-day 100` is `requests_day: 100`, and a word removes a cap. */
export type CapOptions = { readonly [Name in 'day' | 'week' | 'month' | 'quarter' | 'total']?: string } & {
  readonly requestsDay?: number | 'none'
  readonly tokensDay?: number | 'none'
}

/** The options that set caps. */
export const withCaps = (command: Command): Command =>
  command
    .option('--day <usd>', 'USD a day (UTC), e.g. 5.00; or none')
    .option('--week <usd>', 'USD a week, from Monday; or none')
    .option('--month <usd>', 'USD a month; or none')
    .option('--quarter <usd>', 'USD a quarter; or none')
    .option('--total <usd>', 'USD in total, without end; or none')
    .option('--requests-day <n>', 'requests a day; or none', parseCountOrNone)
    .option('--tokens-day <n>', 'tokens a day; or none', parseCountOrNone)

/** Only the given ones. */
export function capTermsOf({ requestsDay, tokensDay, ...usd }: CapOptions) {
  const given = { ...usd, requests_day: requestsDay, tokens_day: tokensDay }
  return Object.fromEntries(
    CAP_NAMES.flatMap((name) => {
      const amount = given[name]
      return amount === undefined ? [] : [[name, amount === 'none' ? null : amount]]
    }),
  )
}

const PER: Readonly<Record<CapName, string>> = {
  ...{ day: 'USD a day', week: 'USD a week', month: 'USD a month', quarter: 'USD a quarter', total: 'USD in total' },
  ...{ requests_day: 'requests a day', tokens_day: 'tokens a day' },
}

/** `5.00 USD a day, 50.00 USD a month`, or `without a cap`. */
export const describeCaps = (caps: CapsView): string =>
  CAP_NAMES.flatMap((name) => (caps[name] === undefined ? [] : `${caps[name]} ${PER[name]}`)).join(', ') ||
  'without a cap'

interface RaiseArgs {
  readonly cap: CapName
  readonly to: string
  readonly until: string
}

/** A higher cap for a while. */
export const addRaise = (
  parent: Command,
  holder: string,
  raise: (named: string, args: RaiseArgs) => Promise<void>,
): void =>
  void parent
    .command(`raise <${holder}> <cap> <amount>`)
    .description(
      `raise a cap (${CAP_NAMES.join(', ')}) until an end, after which it is as before; changing the cap ends the raise`,
    )
    .requiredOption('--until <when>', 'a date (2027-01-31) or a span (12h, 7d)')
    .action((named: string, cap: CapName, to: string, { until }: { until: string }) => raise(named, { cap, to, until }))

export const raisedLine = ({ cap, to, until }: { cap: string; to: string; until: string }) => ({
  data: `${cap}: ${to} until ${until}.\n`,
})

export function addPeople(program: Command, context: CommandContext): void {
  const people = program.command('people').description('manage who can sign in to the console')
  people
    .command('invite <email-or-account>')
    .description('print a one-time link to sign up and choose a password')
    .addOption(new Option('--role <role>', 'role of the person').choices(role.options).default('owner'))
    .option('--account <account>', 'account of the person; default: the account with this email')
    .option('--reset', 'new password for a person who has already signed up')
    .action(async (who: string, { role: asked, account, reset }: { role: Role; account?: string; reset?: true }) => {
      const named = who.includes('@') ? { email: who, ...(account !== undefined && { account }) } : { account: who }
      await context.operate(
        'people.invite',
        { role: asked, ...named, ...(reset && { resets: true }) },
        (invitation) => ({
          before: invitation.resets
            ? `Link to choose a new password for ${invitation.email}:\n`
            : `Link to sign up as ${invitation.role} for ${invitation.email}:\n`,
          data: `${invitation.link}\n`,
          note: `${invitation.mailed ? 'Also sent by mail. ' : ''}Valid once, until ${invitation.expires_at}. Anyone with the link can use it: send it to this person only.\n`,
        }),
      )
    })
  inPages(people.command('list [account]').description('list the people of all accounts, or of one')).action(
    (account: string | undefined, options: PageOptions) => {
      const args = { ...options, ...(account !== undefined && { account }) }
      return context.list('people.list', args, {
        columns: ['id', 'email', 'role', 'account', 'state', 'since'],
        row: ({ id, email, role, account: of, disabled_at: disabledAt, created_at: since }) => [
          ...[id, email, role, of ?? '-', disabledAt === null ? 'active' : 'disabled', dayOf(since)],
        ],
        command: ['people', 'list', ...(account === undefined ? [] : [account])],
        none:
          account === undefined
            ? 'No person has signed up yet. To invite one:  millrace people invite you@example.com --role operator'
            : `That account has no people. To invite one:  millrace people invite ${shellWord(account)}`,
      })
    },
  )
  people
    .command('disable <email-or-id>')
    .description('end all sessions of a person, and block sign-in and their API keys')
    .action((person: string) =>
      context.operate('people.disable', { person }, ({ email }) => ({
        data: `Disabled ${email}.\n`,
        note: `Their API keys are refused until then; keys without a person still work. To undo:  millrace people enable ${email}\n`,
      })),
    )
  people
    .command('unlink <email-or-id>')
    .description('forget the identities of a person at providers of single sign-on, and end their sessions')
    .action((person: string) =>
      context.operate('people.unlink', { person }, ({ email, unlinked }) => ({
        data: `Unlinked ${email} from ${unlinked} ${unlinked === 1 ? 'identity' : 'identities'}.\n`,
      })),
    )
  people
    .command('show <email-or-id>')
    .description('show a person of an account, and what is left of their caps across all of their keys')
    .action((person: string) =>
      context.operate('people.show', { person }, ({ id, email, role, spent }, style) => {
        const facts = formatFacts(style, [
          ['id', id],
          ['email', email],
          ['role', role],
        ])
        return { data: spent.length === 0 ? facts : `${facts}\n${formatPeriods(style, 'cap', spent)}` }
      }),
    )
  people
    .command('remove-factors <email-or-id>')
    .description('remove the authenticator app, passkeys and recovery codes of a person who has lost them')
    .action((person: string) =>
      context.operate('people.remove-factors', { person }, ({ email, authenticator_app, passkeys }) => ({
        data:
          !authenticator_app && passkeys === 0
            ? `${email} has no second factor.\n`
            : `Removed ${authenticator_app ? 'the authenticator app' : 'no authenticator app'} and ${passkeys} passkeys of ${email}.\n`,
        note: 'They sign in with their password alone. Their sessions have ended.\n',
      })),
    )
  withCaps(
    people
      .command('caps <email-or-id>')
      .description('set caps of a person across all of their keys, effective at once'),
  ).action((person: string, options: CapOptions) => {
    const caps = capTermsOf(options)
    if (Object.keys(caps).length === 0)
      return context.fail(
        EXIT.usage,
        'Give at least one cap, such as --day 5.00; none removes it. See: millrace people show',
      )
    return context.operate('people.caps', { person, ...caps }, (changed) => ({
      data: `${changed.email} may spend ${describeCaps(changed.caps)}.\n`,
    }))
  })
  addRaise(people, 'email-or-id', (person, raise) => context.operate('people.raise', { person, ...raise }, raisedLine))
  people
    .command('enable <email-or-id>')
    .description('allow a disabled person to sign in again, and their API keys')
    .action((person: string) =>
      context.operate('people.enable', { person }, ({ email }) => ({
        data: `Enabled ${email}.\n`,
        note: `For a forgotten password, create a link:  millrace people invite ${email} --reset\n`,
      })),
    )
}
