import { type Command, Option } from 'commander'
import type { Role } from '../db/tables.ts'
import { shellWord } from '../lib/anywhere/text.ts'
import { type CommandContext, inPages, type PageOptions } from './command-context.ts'
import { dayOf } from './format.ts'

export function addPeople(program: Command, context: CommandContext): void {
  const people = program.command('people').description('manage who can sign in to the console')
  people
    .command('invite <email-or-account>')
    .description('print a one-time link to sign up and choose a password')
    .addOption(new Option('--role <role>', 'role of the person').choices(['owner', 'operator']).default('owner'))
    .option('--account <account>', 'account that the person will own; default: the account with this email')
    .option('--reset', 'new password for a person who has already signed up')
    .action(async (who: string, { role, account, reset }: { role: Role; account?: string; reset?: true }) => {
      const named = who.includes('@') ? { email: who, ...(account !== undefined && { account }) } : { account: who }
      await context.operate('people.invite', { role, ...named, ...(reset && { resets: true }) }, (invitation) => ({
        before: invitation.resets
          ? `Link to choose a new password for ${invitation.email}:\n`
          : `Link to sign up as ${invitation.role} for ${invitation.email}:\n`,
        data: `${invitation.link}\n`,
        note: `Valid once, until ${invitation.expires_at}. Anyone with the link can use it: send it to this person only.\n`,
      }))
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
    .description('end all sessions of a person and block sign-in')
    .action((person: string) =>
      context.operate('people.disable', { person }, ({ email }) => ({
        data: `Disabled ${email}.\n`,
        note: `API keys still work; see millrace keys list. To undo:  millrace people enable ${email}\n`,
      })),
    )
  people
    .command('enable <email-or-id>')
    .description('allow a disabled person to sign in again')
    .action((person: string) =>
      context.operate('people.enable', { person }, ({ email }) => ({
        data: `Enabled ${email}.\n`,
        note: `For a forgotten password, create a link:  millrace people invite ${email} --reset\n`,
      })),
    )
}
