import { pause } from '../../lib/async.ts'

/** What the books need of a driver: the `Pool` of `pg` is one. The program itself depends on no driver yet. */
export interface PostgresPool {
  query(text: string, values?: readonly unknown[]): Promise<{ readonly rows: readonly Record<string, unknown>[] }>
}

/** The database went away, or undid what it was doing: a deadlock, a conflict, too many connections. */
const WORTH_ASKING = /^(08|40|53|57P0)/

/**
 * Asked again, the same call may succeed, and does no harm: every operation knows what it has done already. Errors without
 * a severity are the driver's own: where the connection failed, nobody knows whether the database still did it.
 */
export function isWorthAsking(error: unknown): boolean {
  if (!(error instanceof Error) || !('severity' in error)) return true
  return 'code' in error && WORTH_ASKING.test(String(error.code))
}

const RETRY_MIN_MS = 50
const RETRY_MAX_MS = 2000

/**
 * Calls a function of the ledger until its outcome is known: the identical call, as often as it takes within the time.
 * Money travels as text in both directions, because JSON's numbers are doubles.
 */
export async function callLedger<Result>(
  {
    pool,
    retryMs,
    onTrouble,
  }: { readonly pool: PostgresPool; readonly retryMs: number; onTrouble?(error: unknown): void },
  call: string,
  values: readonly unknown[],
): Promise<Result> {
  let waited = 0
  for (let waitMs = RETRY_MIN_MS; ; waitMs = Math.min(waitMs * 2, RETRY_MAX_MS)) {
    try {
      const { rows } = await pool.query(`SELECT ${call} AS result`, values)
      return rows[0]?.result as Result
    } catch (error) {
      if (!isWorthAsking(error)) throw error
      onTrouble?.(error)
      if (waited >= retryMs) throw error
    }
    await pause(waitMs)
    waited += waitMs
  }
}

export const asJson = (value: unknown): string =>
  JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? String(each) : each))
