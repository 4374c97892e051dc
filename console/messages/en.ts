import { charts, common, problems } from './en/common.ts'
import { overview } from './en/overview.ts'
import { requests } from './en/requests.ts'
import { shell } from './en/shell.ts'

/** What every page has, and what somebody meets who has just signed in. */
export const base = { common, problems, shell, charts, overview, requests } as const

/** What comes with the pages that need it: `routes.tsx` says which. */
export const lazy = {
  accounts: async () => (await import('./en/accounts.ts')).accounts,
  audit: async () => (await import('./en/audit.ts')).audit,
  codes: async () => (await import('./en/codes.ts')).codes,
  connect: async () => (await import('./en/connect.ts')).connect,
  found: async () => (await import('./en/found.ts')).found,
  keys: async () => (await import('./en/keys.ts')).keys,
  lanes: async () => (await import('./en/lanes.ts')).lanes,
  models: async () => (await import('./en/models.ts')).models,
  people: async () => (await import('./en/people.ts')).people,
  plan: async () => (await import('./en/plan.ts')).plan,
  plans: async () => (await import('./en/plans.ts')).plans,
  playground: async () => (await import('./en/playground.ts')).playground,
  receipt: async () => (await import('./en/receipt.ts')).receipt,
  settings: async () => (await import('./en/settings.ts')).settings,
  system: async () => (await import('./en/system.ts')).system,
  usage: async () => (await import('./en/usage.ts')).usage,
  wallet: async () => (await import('./en/wallet.ts')).wallet,
} as const
