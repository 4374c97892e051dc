import type { ClockView } from './ledger-clock.ts'
import { done, type Outcome } from './outcome.ts'

export type ServerStatus =
  | {
      readonly running: true
      readonly draining: boolean
      readonly version: string
      readonly node: string
      readonly driver: string
      readonly pid: number
      readonly url: string
      /** How clients reach it from outside, where the configuration says so. */
      readonly public_url: string | null
      readonly data: string
      /** The file, or `none (defaults)`. */
      readonly config: string
      /** Why the last reload was refused, so that an earlier configuration stays in force; null if it was not. */
      readonly reload_refused: string | null
      readonly started_at: string
      readonly ledger_available: boolean
      /** Ledger time beside the wall clock. */
      readonly clock: ClockView
      readonly models: number
      readonly requests_running: number
      readonly requests_served: number
      /** Files in the data folder that are not used because they are damaged or do not belong to the ledger. */
      readonly set_aside: readonly string[]
    }
  | {
      readonly running: false
      readonly version: string
      readonly node: string
      readonly data: string
      /** Whether the data folder has a ledger, or traces of one. */
      readonly has_ledger?: boolean
      readonly set_aside?: readonly string[]
    }

export async function serverStatus(deps: { readonly status: () => ServerStatus }): Promise<Outcome<ServerStatus>> {
  return done(deps.status())
}
