import type { BaseMessages, LazyMessages } from './catalogue.ts'
import { charts, common, problems } from './de/common.ts'
import { overview } from './de/overview.ts'
import { requests } from './de/requests.ts'
import { shell } from './de/shell.ts'

/** Loaded on every page. */
export const base: BaseMessages = { common, problems, shell, charts, overview, requests }

/** Loaded with the pages that `routes.tsx` lists them for. */
export const lazy: LazyMessages = {
  accounts: async () => (await import('./de/accounts.ts')).accounts,
  audit: async () => (await import('./de/audit.ts')).audit,
  caps: async () => (await import('./de/caps.ts')).caps,
  connect: async () => (await import('./de/connect.ts')).connect,
  keys: async () => (await import('./de/keys.ts')).keys,
  managed: async () => (await import('./de/managed.ts')).managed,
  members: async () => (await import('./de/members.ts')).members,
  models: async () => (await import('./de/models.ts')).models,
  notices: async () => (await import('./de/notices.ts')).notices,
  operator: async () => (await import('./de/operator.ts')).operator,
  payments: async () => (await import('./de/payments.ts')).payments,
  people: async () => (await import('./de/people.ts')).people,
  plan: async () => (await import('./de/plan.ts')).plan,
  playground: async () => (await import('./de/playground.ts')).playground,
  reports: async () => (await import('./de/reports.ts')).reports,
  receipt: async () => (await import('./de/receipt.ts')).receipt,
  runs: async () => (await import('./de/runs.ts')).runs,
  settings: async () => (await import('./de/settings.ts')).settings,
  teams: async () => (await import('./de/teams.ts')).teams,
  usage: async () => (await import('./de/usage.ts')).usage,
  wallet: async () => (await import('./de/wallet.ts')).wallet,
}
