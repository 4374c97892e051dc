import type { BaseMessages, LazyMessages } from './catalogue.ts'
import { charts, common, problems } from './de/common.ts'
import { overview } from './de/overview.ts'
import { requests } from './de/requests.ts'
import { shell } from './de/shell.ts'

/** What every page has, and what somebody meets who has just signed in. */
export const base: BaseMessages = { common, problems, shell, charts, overview, requests }

/** What comes with the pages that need it: `routes.tsx` says which. */
export const lazy: LazyMessages = {
  accounts: async () => (await import('./de/accounts.ts')).accounts,
  audit: async () => (await import('./de/audit.ts')).audit,
  codes: async () => (await import('./de/codes.ts')).codes,
  connect: async () => (await import('./de/connect.ts')).connect,
  found: async () => (await import('./de/found.ts')).found,
  keys: async () => (await import('./de/keys.ts')).keys,
  lanes: async () => (await import('./de/lanes.ts')).lanes,
  models: async () => (await import('./de/models.ts')).models,
  people: async () => (await import('./de/people.ts')).people,
  plan: async () => (await import('./de/plan.ts')).plan,
  plans: async () => (await import('./de/plans.ts')).plans,
  playground: async () => (await import('./de/playground.ts')).playground,
  receipt: async () => (await import('./de/receipt.ts')).receipt,
  settings: async () => (await import('./de/settings.ts')).settings,
  system: async () => (await import('./de/system.ts')).system,
  usage: async () => (await import('./de/usage.ts')).usage,
  wallet: async () => (await import('./de/wallet.ts')).wallet,
}
