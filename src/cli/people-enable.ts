import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'

export function addPeopleEnable(people: Command, context: CommandContext): void {
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
