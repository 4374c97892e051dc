import type { Command } from 'commander'
import type { CapView, WindowView } from '../admin/plans.ts'
import { describeWindows, type SubscriptionView } from '../admin/plans.ts'
import type { CommandContext } from './command-context.ts'
import { columnsOf, formatFacts, formatTable, type Style } from './format.ts'

export function addPlans(program: Command, context: CommandContext): void {
  const plans = program.command('plans').description('Builder subscriptions: what builder keys draw on')
  addList(plans, context)
  addAssign(plans, context)
  addEnd(plans, context)
  addShow(plans, context)
}

const COLUMNS = columnsOf('id', '>accounts', 'allowance', 'opens')

function addList(plans: Command, context: CommandContext): void {
  plans
    .command('list')
    .description('the plans of the configuration')
    .action(async () => {
      await context.operate('plans.list', {}, ({ items }, style) => {
        if (items.length === 0) return { data: '', aside: 'The configuration has no plan.\n' }
        const rows = items.map((plan) => [
          ...[plan.id, String(plan.accounts), describeWindows(plan), plan.opens.join(' ') || 'no model'],
        ])
        return { data: formatTable(style, COLUMNS, rows) }
      })
    })
}

function addAssign(plans: Command, context: CommandContext): void {
  plans
    .command('assign <account> <plan>')
    .description('put an account on a plan, or on another one; what was used stays used')
    .option('--until <when>', 'a date (2027-01-31) or a span (30d); without it, until it is ended')
    .action(async (account: string, plan: string, options: { until?: string }) => {
      const args = { account, plan, ...options }
      await context.operate('plans.assign', args, (shown, style) => ({ data: formatSubscription(style, shown) }))
    })
}

function addEnd(plans: Command, context: CommandContext): void {
  plans
    .command('end <account>')
    .description('end a subscription; requests that are running finish')
    .option('--at <when>', 'a date (2027-01-31) or a span (30d); without it, at once')
    .action(async (account: string, options: { at?: string }) => {
      const args = { account, ...options }
      await context.operate('plans.end', args, (shown, style) => ({ data: formatSubscription(style, shown) }))
    })
}

function addShow(plans: Command, context: CommandContext): void {
  plans
    .command('show <account>')
    .description('what an account is subscribed to, and what is left of each window')
    .action(async (account: string) => {
      await context.operate('plans.show', { account }, (shown, style) => ({ data: formatSubscription(style, shown) }))
    })
}

const STATES = {
  none: 'no subscription',
  active: 'active',
  ended: 'ended',
  not_configured: 'inactive: the configuration has no such plan any more',
} as const satisfies Record<SubscriptionView['state'], string>

/** What an account is on, in a few words. */
export const describePlan = ({ state, plan, until }: Pick<SubscriptionView, 'state' | 'plan' | 'until'>): string => {
  const till = until === null ? '' : `, until ${until}`
  return plan === null ? STATES.none : `${plan} (${STATES[state]}${state === 'active' ? till : ''})`
}

function formatSubscription(style: Style, shown: SubscriptionView): string {
  const facts = formatFacts(style, [
    ['account', `${shown.email} (${shown.account})`],
    ['plan', shown.plan ?? STATES.none],
    ['state', shown.plan === null ? null : STATES[shown.state]],
    ['since', shown.since],
    ['until', shown.until ?? (shown.state === 'active' ? 'it is ended' : null)],
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
    name,
    limit,
    used,
    held,
    left,
    start ?? 'not opened yet',
    end ?? '',
  ])
  return formatTable(style, columns, rows)
}
