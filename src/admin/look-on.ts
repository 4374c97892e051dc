import type { Clock } from '../lib/clock.ts'
import { resolveAccount } from './accounts.ts'
import { done, refuseOperation } from './outcome.ts'
import type { StatusSources } from './server-status.ts'
import type { DbService } from './services.ts'

const NOT_SERVING = refuseOperation('not_serving', 'No server runs here.')

/** The metrics of this process, with the time at which they were read. */
export async function readMetrics({
  renderMetrics,
  clock,
}: StatusSources & { readonly clock: Pick<Clock, 'nowMicros'> }) {
  if (renderMetrics === undefined) return NOT_SERVING
  return done({ text: await renderMetrics(), at_ms: clock.nowMicros() / 1000 })
}

interface LogArgs {
  readonly after?: string | undefined
  /** Id or email. */
  readonly account?: string | undefined
  readonly errors?: boolean | undefined
}

/** The newest lines of the log of this process. */
export async function readLog({ logWatch, db }: StatusSources & DbService, { after, account, errors }: LogArgs) {
  if (logWatch === undefined) return NOT_SERVING
  const resolved = account === undefined ? undefined : await resolveAccount({ db }, account)
  if (resolved?.kind === 'refused') return resolved
  return done(logWatch.read(after, { account: resolved?.value.id, errors }))
}
