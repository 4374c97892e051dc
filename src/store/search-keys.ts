import { sql } from 'kysely'
import type { StoredKey } from './keys.ts'
import type { LedgerDb } from './tables.ts'

interface SearchOfKeys {
  readonly before: number
  readonly limit: number
  /** In lower case, each once. */
  readonly words: readonly string[]
}

/** The names of its models alone may be 100 kB of a key: the thread of the books turns to others after so few of them. */
export const KEYS_LOOKED_AT = 16

/** The keys of an account with every word in what is told of them: newest first, revoked ones included. */
export async function searchKeys(
  db: LedgerDb,
  account: number,
  { before, limit, words }: SearchOfKeys,
): Promise<StoredKey[]> {
  const found: StoredKey[] = []
  for (let behind = before; found.length < limit; ) {
    const slice = await lookAtSlice(db, account, behind, words)
    found.push(...slice.filter((looked) => looked.row !== null))
    if (slice.length < KEYS_LOOKED_AT) break
    behind = slice.at(-1)!.looked_at
  }
  return found.slice(0, limit)
}

/** A key as it is stored, or nothing of it but its row where the words are not in it. */
type LookedAt = { looked_at: number } & (StoredKey | { row: null })

/** The text of a key is made once, not once for each word; what is shown of a secret counts, and every model. */
async function lookAtSlice(
  db: LedgerDb,
  account: number,
  before: number,
  words: readonly string[],
): Promise<LookedAt[]> {
  const hasAll = sql.join(
    words.map((word) => sql`instr(looked.text, ${word}) > 0`),
    sql` AND `,
  )
  const { rows } = await sql<LookedAt>`WITH looked AS MATERIALIZED (
      SELECT row, lower(name || ' ' || id || ' ' || shown || ' ' || kind || ' ' || coalesce(models, '')) AS text
      FROM keys WHERE account = ${account} AND row < ${before} ORDER BY row DESC LIMIT ${KEYS_LOOKED_AT})
    SELECT looked.row AS looked_at, keys.* FROM looked LEFT JOIN keys ON keys.row = looked.row AND ${hasAll}
    ORDER BY looked_at DESC`.execute(db)
  return rows
}
