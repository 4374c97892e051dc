import { type Command, Option } from 'commander'
import type { Role } from '../db/tables.ts'
import { shellWord } from '../lib/anywhere/text.ts'
import { type CommandContext, inPages, type PageOptions, showList } from './command-context.ts'
import { columnsOf, dayOf } from './format.ts'

export function addPeople(program: Command, context: CommandContext): void {
  const people = program.command('people').description('who signs in to the console')
  addInvite(people, context)
  addList(people, context)
  addDisable(people, context)
  addEnable(people, context)
}

interface InviteOptions {
  readonly role: Role
  readonly account?: string
  readonly reset?: true
}

function addInvite(people: Command, context: CommandContext): void {
  people
    .command('invite <email-or-account>')
    .description('print a link with which somebody chooses a password, once')
    .addOption(new Option('--role <role>', 'what they may do').choices(['owner', 'operator']).default('owner'))
    .option('--account <account>', 'whose keys and money they see; left out, the account of that e-mail')
    .option('--reset', 'for somebody who has signed up already: a new password')
    .action(async (who: string, { role, account, reset }: InviteOptions) => {
      const named = who.includes('@') ? { email: who, ...(account !== undefined && { account }) } : { account: who }
      await context.operate('people.invite', { role, ...named, ...(reset && { resets: true }) }, (invitation) => ({
        before: invitation.resets
          ? `A new password for ${invitation.email}:\n`
          : `${invitation.email} signs up as ${invitation.role}:\n`,
        data: `${invitation.link}\n`,
        aside: `Good once, until ${invitation.expires_at}. Whoever has the link becomes that person: send it to nobody else.\n`,
      }))
    })
}

const COLUMNS = columnsOf('id', 'email', 'role', 'account', 'state', 'since')
const NOBODY = 'Nobody has signed up yet. To let somebody:  millrace people invite you@example.com --role operator'

const nobodyOf = (account: string) =>
  `Nobody signs in for that account. To let somebody:  millrace people invite ${shellWord(account)}`

function addList(people: Command, context: CommandContext): void {
  inPages(people.command('list [account]').description('everybody who may sign in, or those of one account')).action(
    async (account: string | undefined, options: PageOptions) => {
      const args = { ...options, ...(account !== undefined && { account }) }
      await context.operate('people.list', args, ({ items, next }, style) =>
        showList(style, {
          columns: COLUMNS,
          rows: items.map(({ id, email, role, account: of, disabled_at: disabledAt, created_at: since }) => [
            ...[id, email, role, of ?? '-', disabledAt === null ? 'active' : 'disabled', dayOf(since)],
          ]),
          next,
          command: ['people', 'list', ...(account === undefined ? [] : [account])],
          page: options,
          none: account === undefined ? NOBODY : nobodyOf(account),
        }),
      )
    },
  )
}

function addDisable(people: Command, context: CommandContext): void {
  people
    .command('disable <email-or-id>')
    .description('end all sessions of somebody and let them sign in no more')
    .action(async (person: string) => {
      await context.operate('people.disable', { person }, ({ email }) => ({
        data: `Disabled ${email}.\n`,
        aside: `API keys go on working; see millrace keys list. To let them in again:  millrace people enable ${email}\n`,
      }))
    })
}

function addEnable(people: Command, context: CommandContext): void {
  people
    .command('enable <email-or-id>')
    .description('let somebody sign in again who was disabled')
    .action(async (person: string) => {
      await context.operate('people.enable', { person }, ({ email }) => ({
        data: `Enabled ${email}.\n`,
        aside: `Who has forgotten the password needs a link:  millrace people invite ${email} --reset\n`,
      }))
    })
}
