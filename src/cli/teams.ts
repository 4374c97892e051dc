import type { Command } from 'commander'
import type { CapsView, CapView } from '../admin/caps.ts'
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
