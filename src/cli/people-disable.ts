import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'

export function addPeopleDisable(people: Command, context: CommandContext): void {
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
