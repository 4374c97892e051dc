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
  connect: async () => (await import('./de/connect.ts')).connect,
  keys: async () => (await import('./de/keys.ts')).keys,
  models: async () => (await import('./de/models.ts')).models,
  operator: async () => (await import('./de/operator.ts')).operator,
  people: async () => (await import('./de/people.ts')).people,
  plan: async () => (await import('./de/plan.ts')).plan,
  playground: async () => (await import('./de/playground.ts')).playground,
  receipt: async () => (await import('./de/receipt.ts')).receipt,
  settings: async () => (await import('./de/settings.ts')).settings,
  usage: async () => (await import('./de/usage.ts')).usage,
  wallet: async () => (await import('./de/wallet.ts')).wallet,
}
