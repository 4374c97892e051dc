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
      readonly started_at: string
      readonly ledger_available: boolean
      readonly models: number
      readonly requests_running: number
      readonly requests_served: number
    }
  | { readonly running: false; readonly version: string; readonly node: string; readonly data: string }

export async function serverStatus(deps: { readonly status: () => ServerStatus }): Promise<Outcome<ServerStatus>> {
  return done(deps.status())
}
