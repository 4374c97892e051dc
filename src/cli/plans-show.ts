import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { formatSubscription } from './format-subscription.ts'

export function addPlansShow(plans: Command, context: CommandContext): void {
  plans
    .command('show <account>')
    .description('what an account is subscribed to, and what is left of each window')
    .action(async (account: string) => {
      await context.operate('plans.show', { account }, (shown, style) => ({ data: formatSubscription(style, shown) }))
    })
}
