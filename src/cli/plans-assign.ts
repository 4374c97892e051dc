import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { formatSubscription } from './format-subscription.ts'

export function addPlansAssign(plans: Command, context: CommandContext): void {
  plans
    .command('assign <account> <plan>')
    .description('put an account on a plan, or on another one; what was used stays used')
    .option('--until <when>', 'a date (2027-01-31) or a span (30d); without it, until it is ended')
    .action(async (account: string, plan: string, { until }: { until?: string }) => {
      const args = { account, plan, ...(until !== undefined && { until }) }
      await context.operate('plans.assign', args, (shown, style) => ({ data: formatSubscription(style, shown) }))
    })
}
