import { charts, common, problems } from './en/common.ts'
import { overview } from './en/overview.ts'
import { requests } from './en/requests.ts'
import { shell } from './en/shell.ts'

/** Loaded on every page. */
export const base = { common, problems, shell, charts, overview, requests } as const

/** Loaded with the pages that `routes.tsx` lists them for. */
export const lazy = {
  accounts: async () => (await import('./en/accounts.ts')).accounts,
  audit: async () => (await import('./en/audit.ts')).audit,
  caps: async () => (await import('./en/caps.ts')).caps,
  connect: async () => (await import('./en/connect.ts')).connect,
  keys: async () => (await import('./en/keys.ts')).keys,
  managed: async () => (await import('./en/managed.ts')).managed,
  members: async () => (await import('./en/members.ts')).members,
  models: async () => (await import('./en/models.ts')).models,
  notices: async () => (await import('./en/notices.ts')).notices,
  operator: async () => (await import('./en/operator.ts')).operator,
  payments: async () => (await import('./en/payments.ts')).payments,
  people: async () => (await import('./en/people.ts')).people,
  plan: async () => (await import('./en/plan.ts')).plan,
  playground: async () => (await import('./en/playground.ts')).playground,
  reports: async () => (await import('./en/reports.ts')).reports,
  receipt: async () => (await import('./en/receipt.ts')).receipt,
  runs: async () => (await import('./en/runs.ts')).runs,
  settings: async () => (await import('./en/settings.ts')).settings,
  teams: async () => (await import('./en/teams.ts')).teams,
  usage: async () => (await import('./en/usage.ts')).usage,
  wallet: async () => (await import('./en/wallet.ts')).wallet,
} as const
