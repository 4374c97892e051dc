import type { Schema } from '../sqlite/migrate.ts'
import { lockoutsMigration } from './lockouts-migration.ts'
import { refusedTurnsMigration } from './refused-turns-migration.ts'
import { responsesMigration } from './responses-migration.ts'
import { usageMigration } from './usage-migration.ts'

/**
 * Answers that may be given again. The body is the last column, so that a row is judged without reading it; the index
 * holds all that the choice of what has to go looks at.
 */
const answersMigration: readonly string[] = [
  `CREATE TABLE answers (
    request_id TEXT NOT NULL UNIQUE,
    account INTEGER NOT NULL,
    ring_key TEXT NOT NULL,
    status INTEGER NOT NULL,
    content_type TEXT NOT NULL,
    encoding TEXT NOT NULL CHECK (encoding IN ('identity', 'deflate')),
    raw_bytes INTEGER NOT NULL,
    bytes INTEGER NOT NULL CHECK (bytes = length(sealed)),
    facts TEXT NOT NULL,
    at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    sealed BLOB NOT NULL
  ) STRICT`,
  `CREATE INDEX answers_by_expiry ON answers (expires_at, bytes)`,
]

/** A static list: what ships is what runs, and no folder is searched at start. */
export const contentSchema: Schema = {
  migrations: [
    { name: '0001-answers', statements: answersMigration },
    ...[responsesMigration, usageMigration, lockoutsMigration, refusedTurnsMigration],
  ],
  tables: [
    ...['answers', 'account_keys', 'responses', 'response_objects', 'items', 'response_items', 'events'],
    ...['state_size', 'usage_series', 'usage', 'usage_upto', 'refused_series', 'refused_turns', 'lockouts'],
  ],
}
