import { changeRows, type SqlStore } from './sql-store.ts'

/** A column of secrets, which the key ring seals, beside the id of the key that has sealed each. */
interface SealedColumn {
  readonly of: 'notices' | 'managed' | 'totp'
  readonly table: string
  readonly key: string
  /** SQL for the name under which it is sealed. */
  readonly name: string
  readonly ringKey: string
  readonly sealed: string
}

const WEBHOOK = { of: 'notices', table: 'webhooks', key: 'row', name: 'id' } as const

/** Contents of accounts are sealed by keys of their own, which are sealed again when they are used. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  { ...WEBHOOK, ringKey: 'ring_key', sealed: 'secret' },
  { ...WEBHOOK, ringKey: 'former_ring_key', sealed: 'former_secret' },
  { ...WEBHOOK, table: 'notice_deliveries', ringKey: 'ring_key', sealed: 'sealed' },
  { of: 'managed', table: 'managed_entries', key: 'row', name: 'name', ringKey: 'ring_key', sealed: 'sealed' },
  {
    ...{ of: 'totp', table: 'totp_secrets', key: 'person', ringKey: 'ring_key', sealed: 'sealed' },
    name: '(SELECT id FROM people WHERE people.row = totp_secrets.person)',
  },
]

interface SealedRow {
  readonly key: number
  readonly name: string
  readonly ring_key: string
  readonly sealed: Uint8Array
}

/** What other keys than the primary one have sealed. */
export const listSealedByOthers = (
  file: SqlStore,
  { table, key, name, ringKey, sealed }: SealedColumn,
  { primary, after, limit }: { readonly primary: string; readonly after: number; readonly limit: number },
) =>
  file.all<{ [Column in keyof SealedRow]: SealedRow[Column] }>(
    `SELECT ${key} AS key, ${name} AS name, ${ringKey} AS ring_key, ${sealed} AS sealed FROM ${table}
      WHERE ${key} > ? AND ${ringKey} <> ? AND ${sealed} IS NOT NULL ORDER BY ${key} LIMIT ?`,
    [after, primary, limit],
  )

/** Unless it was changed meanwhile. */
export const resealRows = (
  file: SqlStore,
  { table, key, ringKey, sealed }: SealedColumn,
  rows: readonly (SealedRow & { readonly next: Pick<SealedRow, 'ring_key' | 'sealed'> })[],
) =>
  changeRows(
    file,
    `UPDATE ${table} SET ${ringKey} = ?, ${sealed} = ? WHERE ${key} = ? AND ${sealed} = ?`,
    ...rows.map((row) => [row.next.ring_key, row.next.sealed, row.key, row.sealed]),
  )
