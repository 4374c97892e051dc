import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { formatSubscription } from './format-subscription.ts'

export function addPlansEnd(plans: Command, context: CommandContext): void {
  plans
    .command('end <account>')
    .description('end a subscription; requests that are running finish')
    .option('--at <when>', 'a date (2027-01-31) or a span (30d); without it, at once')
    .action(async (account: string, { at }: { at?: string }) => {
      const args = { account, ...(at !== undefined && { at }) }
      await context.operate('plans.end', args, (shown, style) => ({ data: formatSubscription(style, shown) }))
    })
}
