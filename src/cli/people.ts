import { type Command, Option } from 'commander'
import { role } from '../contract/people.ts'
import type { Role } from '../db/people-tables.ts'
import { shellWord } from '../lib/anywhere/text.ts'
import { EXIT } from './cli-services.ts'
import { type CommandContext, inPages, type PageOptions } from './command-context.ts'
import { dayOf, formatFacts } from './format.ts'
import { formatPeriods } from './plans.ts'
import { addRaise, type CapOptions, capTermsOf, describeCaps, raisedLine, withCaps } from './teams.ts'

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
