import type { Command } from 'commander'
import type { CapView } from '../admin/caps.ts'
import type { SubscriptionView, WindowView } from '../admin/plans.ts'
import type { CommandContext } from './command-context.ts'
import { columnsOf, describeWindows, formatFacts, formatTable, type Style } from './format.ts'

const COLUMNS = columnsOf('id', '>accounts', 'allowance', 'models')

export function addPlans(program: Command, context: CommandContext): void {
  const plans = program.command('plans').description('manage Builder subscriptions, which pay for builder keys')
  const show = (subscription: SubscriptionView, style: Style) => ({ data: formatSubscription(style, subscription) })
  plans
    .command('list')
    .description('list the plans of the configuration')
    .action(() =>
      context.operate('plans.list', {}, ({ items }, style) => {
        if (items.length === 0) return { data: '', note: 'The configuration has no plans.\n' }
        const rows = items.map((plan) => [
          ...[plan.id, String(plan.accounts), describeWindows(plan), plan.opens.join(' ') || 'no model'],
        ])
        return { data: formatTable(style, COLUMNS, rows) }
      }),
    )
  plans
    .command('assign <account> <plan>')
    .description('assign a plan to an account, or change it; used allowance stays used')
    .option('--until <when>', 'a date (2027-01-31) or a span (30d); default: until it is ended')
    .action((account: string, plan: string, options: { until?: string }) =>
      context.operate('plans.assign', { account, plan, ...options }, show),
    )
  plans
    .command('end <account>')
    .description('end a subscription; running requests finish')
    .option('--at <when>', 'a date (2027-01-31) or a span (30d); default: now')
    .action((account: string, options: { at?: string }) => context.operate('plans.end', { account, ...options }, show))
  plans
    .command('show <account>')
    .description('show the subscription of an account, and what is left in each window')
    .action((account: string) => context.operate('plans.show', { account }, show))
}

const STATES = {
  none: 'no subscription',
  active: 'active',
  ended: 'ended',
  not_configured: 'inactive: the plan is no longer in the configuration',
} as const satisfies Record<SubscriptionView['state'], string>

/** The plan of an account in a few words. */
export const describePlan = ({ state, plan, until }: Pick<SubscriptionView, 'state' | 'plan' | 'until'>): string => {
  const till = state !== 'active' || until === null ? '' : `, until ${until}`
  return plan === null ? STATES.none : `${plan} (${STATES[state]}${till})`
}

function formatSubscription(style: Style, shown: SubscriptionView): string {
  const facts = formatFacts(style, [
    ['account', `${shown.email} (${shown.account})`],
    ['plan', shown.plan ?? STATES.none],
    ['state', shown.plan === null ? null : STATES[shown.state]],
    ['since', shown.since],
    ['until', shown.until ?? (shown.state === 'active' ? 'no end date' : null)],
    ['billing day', shown.billing_day === null ? null : String(shown.billing_day)],
  ])
  return shown.windows.length === 0 ? facts : `${facts}\n${formatPeriods(style, 'window', shown.windows)}`
}

/** Windows or caps, in USD. */
export function formatPeriods(
  style: Style,
  title: 'window' | 'cap',
  periods: readonly (WindowView | CapView)[],
): string {
  const columns = columnsOf(title, '>limit', '>used', '>held', '>left', 'start', 'end')
  const rows = periods.map(({ name, limit, used, held, left, start, end }) => [
    ...[name, limit, used, held, left, start ?? 'not opened yet', end ?? ''],
  ])
  return formatTable(style, columns, rows)
}
