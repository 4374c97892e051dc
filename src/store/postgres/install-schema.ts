import { ADMIT_FUNCTIONS } from './admit-turns.ts'
import { CLOSE_FUNCTIONS } from './close-turns.ts'
import { LIMIT_FUNCTIONS } from './limit-functions.ts'
import { LOCK_FUNCTIONS } from './locks.ts'
import { NODE_FUNCTIONS } from './node-functions.ts'
import { OPERATOR_FUNCTIONS } from './operator-functions.ts'
import { PERIOD_FUNCTIONS } from './periods.ts'
import type { PostgresPool } from './postgres-pool.ts'
import { POSTGRES_SCHEMA } from './schema.ts'
import { VERIFY_FUNCTIONS } from './verify-functions.ts'

/** In the order in which they need each other. */
const PARTS = [
  POSTGRES_SCHEMA,
  LOCK_FUNCTIONS,
  PERIOD_FUNCTIONS,
  LIMIT_FUNCTIONS,
  ADMIT_FUNCTIONS,
  CLOSE_FUNCTIONS,
  OPERATOR_FUNCTIONS,
  NODE_FUNCTIONS,
  VERIFY_FUNCTIONS,
]

/** Into an empty database, whole or not at all: several statements sent as one are one transaction. */
export async function installSchema(pool: PostgresPool): Promise<void> {
  await pool.query(PARTS.join('\n'))
}
