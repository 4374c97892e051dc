import { pauseIdly } from '../../lib/async.ts'
import type { PostgresPool } from './pool.ts'
import { TABLES_SCHEMA } from './schema.ts'

/** What another node has changed. The subject of a key is its id, of an account its row. */
export interface Signal {
  readonly about: 'key' | 'account' | 'people' | 'managed' | 'everything'
  readonly subject: string
}

/** A connection that waits for notifications. */
interface Listener {
  query(text: string): Promise<unknown>
  on(event: 'notification' | 'error' | 'end', listener: (argument?: unknown) => void): void
  end(): Promise<void>
}

interface SignalOptions {
  readonly pool: PostgresPool
  readonly connect: () => Promise<Listener>
  readonly onSignals: (signals: readonly Signal[]) => void
  readonly onTrouble: (error: unknown) => void
}

/** With the time that a notification takes, changes are known within two seconds also without a connection that listens. */
const POLL_MS = 1000
const RECONNECT_POLLS = 5
const END_WAIT_MS = 1000
/** After so long without a look, old signals may have been deleted. */
const SILENT_SECONDS_MAX = 1800
const KEPT = "interval '1 hour'"

/**
 * The next signals, of transactions that had not ended at the last look, or began after it. The answer's `seen` is the oldest
 * transaction that still ran.
 */
const LOOK = `pg_snapshot_xmin(pg_current_snapshot())::text AS seen, pg_postmaster_start_time()::text AS server,
  extract(epoch FROM clock_timestamp())::double precision AS at`

const NEXT = `SELECT ${LOOK},
  (SELECT coalesce(jsonb_agg(jsonb_build_object('about', about, 'subject', subject)), '[]')
    FROM ${TABLES_SCHEMA}.signals WHERE xid >= $1::text::xid8) AS signals`

const NOW = `SELECT ${LOOK}`

/** When and where was looked. */
interface Look {
  readonly seen: string
  readonly server: string
  readonly at: number
}

/** A server that has taken over may have lost its newest transactions, and counts on from those that it has. */
const isBehind = (before: Look, now: Look): boolean =>
  now.server !== before.server || BigInt(now.seen) < BigInt(before.seen) || now.at - before.at > SILENT_SECONDS_MAX

const FORGET = `DELETE FROM ${TABLES_SCHEMA}.signals WHERE at < clock_timestamp() - ${KEPT}`

/** For the job of one node. */
export const forgetSignals = async (pool: PostgresPool): Promise<void> => void (await pool.query(FORGET))

/**
 * Looks for signals when it is notified, and every second besides, because a notification may be lost with its connection. A
 * pooler between does not pass notifications on; then only the poll is left.
 */
export async function listenToSignals({
  pool,
  connect,
  onSignals,
  onTrouble,
}: SignalOptions): Promise<() => Promise<void>> {
  let last = (await pool.query(NOW)).rows[0] as unknown as Look
  let looking: Promise<void> | undefined
  let isDue = false
  let isClosed = false
  let listener: Listener | undefined

  const lookOnce = async (): Promise<void> => {
    const found = (await pool.query(NEXT, [last.seen])).rows[0] as unknown as Look & { readonly signals: Signal[] }
    const before = last
    last = found
    if (isBehind(before, found)) onSignals([{ about: 'everything', subject: '' }])
    else if (found.signals.length > 0) onSignals(found.signals)
  }
  /** One look at a time; a notification during it makes another one. */
  const look = (): void => {
    isDue = true
    looking ??= (async () => {
      while (isDue && !isClosed) {
        isDue = false
        await lookOnce().catch(onTrouble)
      }
      looking = undefined
    })()
  }
  const listen = async (): Promise<void> => {
    const opened = await connect()
    listener = opened
    const lose = (error?: unknown) => {
      if (listener !== opened) return
      listener = undefined
      if (error !== undefined) onTrouble(error)
      // Ended already where the server closed it.
      opened.end().catch(() => {})
    }
    opened.on('error', lose)
    opened.on('end', () => lose())
    opened.on('notification', look)
    await opened.query('LISTEN millrace')
    look()
  }
  let connecting: Promise<void> | undefined
  let polls = 0
  const poll = (): void => {
    look()
    if (polls++ % RECONNECT_POLLS !== 0 || listener !== undefined || connecting !== undefined) return
    connecting = listen()
      .catch(onTrouble)
      .finally(() => {
        connecting = undefined
      })
  }
  poll()
  const timer = setInterval(poll, POLL_MS).unref()
  return async () => {
    isClosed = true
    clearInterval(timer)
    // A peer that is gone does not say so.
    const ended = Promise.all([connecting, looking]).then(() => listener?.end().catch(() => {}))
    await Promise.race([ended, pauseIdly(END_WAIT_MS)])
  }
}
