import type { CapView, WindowView } from '../account/plans/allowance-view.ts'
import type { SubscriptionView } from '../account/plans/plan-of-account.ts'
import { columnsOf, formatFacts, formatTable, type Style } from './format.ts'

const STATES = {
  none: 'no subscription',
  active: 'active',
  ended: 'ended',
  not_configured: 'inactive: the configuration has no such plan any more',
} as const satisfies Record<SubscriptionView['state'], string>

/** What an account is on, in a few words. */
export const planInWords = ({ state, plan, until }: Pick<SubscriptionView, 'state' | 'plan' | 'until'>): string => {
  const till = until === null ? '' : `, until ${until}`
  return plan === null ? STATES.none : `${plan} (${STATES[state]}${state === 'active' ? till : ''})`
}

export function formatSubscription(style: Style, shown: SubscriptionView): string {
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
