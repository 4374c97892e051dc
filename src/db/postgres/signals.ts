import type { PostgresPool } from './pool.ts'
import { TABLES_SCHEMA } from './schema.ts'

/** What another node has changed. The subject of a key is its id, of an account its row. */
export interface Signal {
  readonly about: 'key' | 'account' | 'people' | 'everything'
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
/** Without an answer for so long, old signals may have been deleted: everything is forgotten. */
const SILENT_POLLS_MAX = 1800
const KEPT = "interval '1 hour'"

/**
 * The next signals, of transactions that had not ended at the last look, or began after it. The answer's `seen` is the oldest
 * transaction that still ran.
 */
const NEXT = `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS seen,
  (SELECT coalesce(jsonb_agg(jsonb_build_object('about', about, 'subject', subject)), '[]')
    FROM ${TABLES_SCHEMA}.signals WHERE xid >= $1::text::xid8) AS signals`

const NOW = 'SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS seen'

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
  let seen = String((await pool.query(NOW)).rows[0]?.seen)
  let silentPolls = 0
  let looking: Promise<void> | undefined
  let isDue = false
  let isClosed = false
  let listener: Listener | undefined

  const lookOnce = async (): Promise<void> => {
    const row = (await pool.query(NEXT, [seen])).rows[0]
    const signals = (row?.signals ?? []) as Signal[]
    seen = String(row?.seen)
    if (silentPolls > SILENT_POLLS_MAX) onSignals([{ about: 'everything', subject: '' }])
    else if (signals.length > 0) onSignals(signals)
    silentPolls = 0
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
    silentPolls += 1
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
    await connecting
    await listener?.end().catch(() => {})
    await looking
  }
}
