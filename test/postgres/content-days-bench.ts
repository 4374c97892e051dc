import type pg from 'pg'
import { dayOf } from '../../src/db/content/bodies.ts'
import { createKeptAnswers } from '../../src/db/content/kept-answers.ts'
import { createStoredResponses } from '../../src/db/content/stored-responses.ts'
import { BODY_KINDS, sweepBodies } from '../../src/db/postgres/bodies.ts'
import { openPostgres, type PostgresDatabase } from '../../src/db/postgres/open-database.ts'
import type { RequestId } from '../../src/model/ids.ts'
import { ACCOUNT, RING_KEY } from '../fixtures/db/content/stored-responses.ts'
import { postgresUrl } from '../support/server-on-postgres.ts'
import { createPostgresLedgerState } from './postgres-ledger.ts'

export const DAY_MS = 86_400_000
export const HOUR_MS = 3_600_000

const frame = (sequence: number) =>
  `data: {"type":"response.output_text.delta","sequence_number":${sequence},"delta":"x"}\n\n`
export const EVENTS = Buffer.from(frame(0) + frame(1))

export type DaysBench = Awaited<ReturnType<typeof openDaysBench>>

/** Two nodes that keep contents in one database, at a time that a test decides. */
export async function openDaysBench() {
  const ledger = await createPostgresLedgerState()
  const admin: pg.Pool = ledger.connect()
  const { rows } = await admin.query('SELECT current_database() AS name')
  const url = postgresUrl(rows[0].name)
  const opened: PostgresDatabase[] = []
  const failures: unknown[] = []
  const now = () => bench.time
  const rowsOf = async (sql: string, ...values: unknown[]) => (await admin.query(sql, values)).rows
  const openNode = async (options: { url?: string; bytesMax?: number } = {}) => {
    const database = await openPostgres({ url: options.url ?? url, mayLoseCommits: true, onTrouble() {} })
    opened.push(database)
    const { content } = database
    const onFailure = (error: unknown) => void failures.push(error)
    const shared = { file: content, now, bytesMax: options.bytesMax ?? 100_000_000, isShared: true, onFailure }
    const responses = createStoredResponses({ ...shared, sealingKeys: [RING_KEY] })
    const answers = await createKeptAnswers({ ...shared, keys: [RING_KEY] })
    return {
      ...{ content, responses, answers },
      keep: (name: string, expiresAt: number) =>
        answers.keep({
          ...{ requestId: `req_${name}` as RequestId, account: ACCOUNT, status: 200, contentType: 'text/plain' },
          ...{ body: bodyOf(name), facts: '{}', expiresAt },
        }),
      /** What the jobs of a server do. */
      async sweep() {
        await responses.sweep()
        await answers.sweep()
        await sweepBodies(content, now())
      },
    }
  }
  const bench = {
    ...{ admin, url, failures, rowsOf, openNode, connect: ledger.connect },
    // The middle of a day to come, because contents are never written into a day that has passed.
    time: (dayOf(Date.now()) + 1) * DAY_MS + 12 * HOUR_MS,
    nodes: [await openNode(), await openNode()] as const,
    /** The days of the partitions, without today's, which is always there. */
    async days(): Promise<number[]> {
      const found =
        await rowsOf(`SELECT to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD') - DATE '1970-01-01' AS day
        FROM pg_inherits WHERE inhparent = 'millrace.bodies'::regclass
          AND inhrelid::regclass::text <> 'millrace.' || millrace.body_table(millrace.body_day(0)) ORDER BY 1`)
      return found.map(({ day }) => day)
    },
    /** By kind, in days from now. */
    async bodies(): Promise<string[]> {
      const found = await rowsOf('SELECT day, kind FROM millrace.bodies ORDER BY kind, id, day')
      return found.map(({ day, kind }) => `${kind} ${day - dayOf(now())}`)
    },
    /** Rows without their contents, contents without rows that no partition takes along soon, and wrong sums of bytes. */
    async faults(): Promise<unknown[]> {
      const heads = Object.entries(BODY_KINDS).map(
        ([table, id]) => `SELECT day, '${table}' AS kind, ${id} AS id FROM millrace.${table}`,
      )
      const both = `(${heads.join(' UNION ALL ')}) AS heads FULL JOIN millrace.bodies AS bodies USING (day, kind, id)`
      return [
        ...(await rowsOf(`SELECT 'no content' AS fault, day, kind, id FROM ${both} WHERE sealed IS NULL`)),
        ...(await rowsOf(
          `SELECT 'no row' AS fault, day, bodies.kind, id FROM ${both} WHERE heads.kind IS NULL AND day > $1`,
          dayOf(now()),
        )),
        ...(await rowsOf(`SELECT 'sum' AS fault, counted, found FROM
          (SELECT coalesce(sum(bytes), 0) AS counted FROM millrace.state_size) AS state,
          (SELECT sum(bytes) AS found FROM (SELECT 0 AS bytes UNION ALL SELECT bytes FROM millrace.responses
            UNION ALL SELECT bytes FROM millrace.items UNION ALL SELECT bytes FROM millrace.events) AS each) AS rows
          WHERE counted <> found`)),
        ...(await rowsOf(`SELECT 'bytes' AS fault, responses.response, bytes FROM millrace.responses
          LEFT JOIN millrace.bodies ON kind = 'response_objects' AND bodies.id = responses.response
            AND bodies.day = (SELECT day FROM millrace.response_objects WHERE response = responses.response)
          WHERE bytes <> 320 + 24 * items + coalesce(octet_length(sealed), 0)`)),
      ]
    },
    /** The items before the next response of a conversation. */
    async textsOf(name: string) {
      const found = await bench.nodes[1].responses.context({ account: ACCOUNT }, `resp_${name}`, 10_000_000)
      return found.kind === 'found' ? found.items.map(String) : found.kind
    },
    async framesOf(name: string) {
      const found = await bench.nodes[0].responses.events({ account: ACCOUNT }, `resp_${name}`, -1)
      if (found.kind !== 'found') return found.kind
      const pieces: Buffer[] = []
      for await (const piece of found.frames) pieces.push(piece)
      return Buffer.concat(pieces)
    },
    async close() {
      await Promise.all(opened.map((each) => each.close()))
      await ledger.close()
    },
  }
  return bench
}

/** Of an answer. */
export const bodyOf = (name: string): Buffer => Buffer.alloc(20, name)
