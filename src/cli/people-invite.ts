import { type Command, Option } from 'commander'
import type { Role } from '../store/people-tables.ts'
import type { CommandContext } from './command-context.ts'

interface InviteOptions {
  readonly role: Role
  readonly account?: string
  readonly reset?: true
}

export function addPeopleInvite(people: Command, context: CommandContext): void {
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
