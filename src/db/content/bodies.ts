import type { AtomicStatement } from '../sql-store.ts'
import { OWNER_OF } from './sealing.ts'

/**
 * The statements that read and write sealed contents. A row of the SQLite file has its content in `sealed`. PostgreSQL has
 * `day` there instead, and the content in `bodies`, which is partitioned by the day on which contents expire
 * (db/postgres/bodies.ts).
 */
const texts = new Map<string, string>()

/** The text for PostgreSQL by the one for SQLite. Both have the same parameters. */
export const POSTGRES_BODIES: ReadonlyMap<string, string> = texts

const textsOfMany = new Map<string, string>()

/** By the one for SQLite, the text for PostgreSQL that takes many rows at once: each parameter is a list. */
export const POSTGRES_MANY: ReadonlyMap<string, string> = textsOfMany

const spelled = ({ sqlite, postgres }: { readonly sqlite: string; readonly postgres: string }): string => {
  texts.set(sqlite, postgres)
  return sqlite
}

const ANSWER = 'request_id, account, ring_key, status, content_type, encoding, raw_bytes, bytes, facts, at, expires_at'
const ANSWER_VALUES = `?1, ${OWNER_OF('?2')}, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11`

/** A repeated attempt may find that the first has written it. */
export const ADD_ANSWER = spelled({
  sqlite: `INSERT INTO answers (${ANSWER}, sealed) VALUES (${ANSWER_VALUES}, ?12) ON CONFLICT (request_id) DO NOTHING`,
  postgres: `WITH head AS (
      INSERT INTO answers (${ANSWER}, day) VALUES (${ANSWER_VALUES}, body_day(?11)) ON CONFLICT (request_id) DO NOTHING
      RETURNING day, rowid)
    INSERT INTO bodies (day, kind, id, sealed) SELECT day, 'answers', rowid, ?12 FROM head`,
})

export const READ_ANSWER = spelled({
  sqlite: 'SELECT sealed FROM answers WHERE request_id = ?',
  postgres: `SELECT sealed FROM answers, LATERAL read_bodies(day, 'answers', rowid) WHERE request_id = ?`,
})

/** `?1` is the owner of a response, and `?2` the digest of its id. */
const OF_RESPONSE = 'FROM responses WHERE account = ?1 AND id = ?2'

export const SET_OBJECT = spelled({
  sqlite: `INSERT INTO response_objects (response, encoding, raw_bytes, sealed) SELECT response, ?3, ?4, ?5 ${OF_RESPONSE}
    ON CONFLICT (response) DO UPDATE
    SET encoding = excluded.encoding, raw_bytes = excluded.raw_bytes, sealed = excluded.sealed`,
  // The day of a hidden response is today's: what is there already is replaced where it is.
  postgres: `WITH head AS (
      INSERT INTO response_objects (response, encoding, raw_bytes, day)
      SELECT response, ?3, ?4, body_day(expires_at) ${OF_RESPONSE}
      ON CONFLICT (response) DO UPDATE SET encoding = excluded.encoding, raw_bytes = excluded.raw_bytes,
        day = greatest(response_objects.day, excluded.day)
      RETURNING day, response)
    INSERT INTO bodies (day, kind, id, sealed) SELECT day, 'response_objects', response, ?5 FROM head
      ON CONFLICT (day, kind, id) DO UPDATE SET sealed = excluded.sealed`,
})

export const READ_OBJECT = spelled({
  sqlite: 'SELECT encoding, raw_bytes, sealed FROM response_objects WHERE response = ?',
  postgres: `SELECT encoding, raw_bytes, sealed
    FROM response_objects, LATERAL read_bodies(day, 'response_objects', response) WHERE response = ?`,
})

/** Unless the account has it already. */
export const ADD_ITEM = spelled({
  sqlite: `INSERT INTO items (account, digest, id, encoding, raw_bytes, bytes, sealed)
    SELECT account, ?3, ?4, ?5, ?6, ?7, ?8 ${OF_RESPONSE} ON CONFLICT (account, digest) DO NOTHING`,
  postgres: `WITH head AS (
      INSERT INTO items (account, digest, id, encoding, raw_bytes, bytes, day)
      SELECT account, ?3, ?4, ?5, ?6, ?7, body_day(expires_at) ${OF_RESPONSE} ON CONFLICT (account, digest) DO NOTHING
      RETURNING day, item)
    INSERT INTO bodies (day, kind, id, sealed) SELECT day, 'items', item, ?8 FROM head`,
})

textsOfMany.set(
  ADD_ITEM,
  `WITH given AS (
      SELECT DISTINCT ON (owner, digest) * FROM unnest(?1::bigint[], ?2::text[], ?3::text[], ?4::text[], ?5::text[],
        ?6::bigint[], ?7::bigint[], ?8::bytea[]) WITH ORDINALITY
        AS each (owner, response, digest, id, encoding, raw_bytes, bytes, sealed, place) ORDER BY owner, digest, place),
    head AS (
      INSERT INTO items (account, digest, id, encoding, raw_bytes, bytes, day)
      SELECT given.owner, given.digest, given.id, given.encoding, given.raw_bytes, given.bytes, body_day(expires_at)
        FROM given JOIN responses ON account = given.owner AND responses.id = given.response ORDER BY given.place
        ON CONFLICT (account, digest) DO NOTHING
      RETURNING day, item, account, digest)
    INSERT INTO bodies (day, kind, id, sealed) SELECT day, 'items', item, given.sealed
      FROM head JOIN given ON given.owner = head.account AND given.digest = head.digest`,
)

const ITEM = 'i.item AS item, i.digest AS digest, i.encoding AS encoding, i.raw_bytes AS raw_bytes'
const LISTED_ITEMS = 'FROM json_each(?) list CROSS JOIN items i ON i.item = CAST(list.value AS BIGINT)'

export const READ_ITEMS = spelled({
  sqlite: `SELECT ${ITEM}, i.sealed AS sealed ${LISTED_ITEMS}`,
  // Those of a day at once.
  postgres: `SELECT ${ITEM}, sealed
    FROM (SELECT i.day AS day, array_agg(i.item) AS items ${LISTED_ITEMS} GROUP BY i.day) AS days,
      LATERAL read_bodies(days.day, 'items', VARIADIC days.items) JOIN items i ON i.item = body`,
})

const SEGMENT = 'from_sequence, to_sequence, encoding, raw_bytes'

export const ADD_SEGMENT = spelled({
  sqlite: `INSERT INTO events (response, ${SEGMENT}, bytes, sealed) SELECT response, ?3, ?4, ?5, ?6, ?7, ?8 ${OF_RESPONSE}`,
  postgres: `WITH head AS (
      INSERT INTO events (response, ${SEGMENT}, bytes, day)
      SELECT response, ?3, ?4, ?5, ?6, ?7, body_day(expires_at) ${OF_RESPONSE} RETURNING day, event)
    INSERT INTO bodies (day, kind, id, sealed) SELECT day, 'events', event, ?8 FROM head`,
})

const NEXT_SEGMENT = 'FROM events WHERE response = ? AND to_sequence > ? ORDER BY to_sequence LIMIT 1'

export const READ_SEGMENT = spelled({
  sqlite: `SELECT ${SEGMENT}, sealed ${NEXT_SEGMENT}`,
  postgres: `SELECT ${SEGMENT}, sealed
    FROM (SELECT * ${NEXT_SEGMENT}) AS next, LATERAL read_bodies(day, 'events', event)`,
})

/** On PostgreSQL: the partitions of the days on which these contents expire, before the transaction locks anything else. */
export const makeDays = (expiries: readonly number[]): AtomicStatement => ({
  sql: 'SELECT make_body_days(?)',
  rows: [[JSON.stringify(expiries)]],
})

const DAY_MS = 86_400_000

/** Days since 1970, UTC. */
export const dayOf = (ms: number): number => Math.floor(ms / DAY_MS)

/**
 * On PostgreSQL: what this transaction deletes leaves its contents where a whole partition soon goes with them. Without it
 * they are deleted with their rows.
 */
export const leaveBodies = (now: number): AtomicStatement => ({
  sql: `SELECT set_config('millrace.bodies_left_until', ?, true)`,
  rows: [[String(dayOf(now))]],
})
