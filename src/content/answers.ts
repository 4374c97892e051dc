import type { AccountId } from '../model/ids.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { insertOwners, OWNER_OF } from './owners.ts'

/** An answer as it lies in the file. */
export interface AnswerRow {
  readonly request_id: string
  readonly account: AccountId
  readonly ring_key: string
  readonly status: number
  readonly content_type: string
  readonly encoding: 'identity' | 'deflate'
  readonly raw_bytes: number
  readonly facts: string
  readonly at: number
  readonly expires_at: number
  readonly sealed: Uint8Array
}

/** All of an answer but its body: what has to be known before so many bytes are fetched. */
export type AnswerHead = Omit<AnswerRow, 'sealed' | 'facts' | 'at' | 'expires_at'>

/** What the choice of answers that have to go looks at. */
export interface AnswerSize {
  readonly rowid: number
  readonly bytes: number
}

const INSERT = `INSERT INTO answers
  (request_id, account, ring_key, status, content_type, encoding, raw_bytes, bytes, facts, at, expires_at, sealed)
  VALUES (?1, ${OWNER_OF('?2')}, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)`

export async function insertAnswers(file: SqliteFile, answers: readonly AnswerRow[]): Promise<void> {
  const rows = answers.map((answer) => {
    const { request_id, account, ring_key, status, content_type, encoding, raw_bytes, facts, at, expires_at } = answer
    const head = [request_id, account, ring_key, status, content_type, encoding, raw_bytes, answer.sealed.length]
    return [...head, facts, at, expires_at, answer.sealed]
  })
  const owners = insertOwners(answers.map(({ account }) => account))
  await file.atomic([owners, { sql: INSERT, rows, expectChanges: 1 }])
}

const HEAD = `SELECT request_id, owners.id AS account, ring_key, status, content_type, encoding, raw_bytes
  FROM answers CROSS JOIN owners ON owners.owner = answers.account WHERE request_id = ?`

export async function findAnswerHead(file: SqliteFile, requestId: string): Promise<AnswerHead | undefined> {
  const [row] = await file.all<AnswerHead>(HEAD, [requestId])
  return row
}

export async function findSealedBody(file: SqliteFile, requestId: string): Promise<Uint8Array | undefined> {
  const sql = 'SELECT sealed FROM answers WHERE request_id = ?'
  const [row] = await file.all<Pick<AnswerRow, 'sealed'>>(sql, [requestId])
  return row?.sealed
}

export async function findFacts(file: SqliteFile, requestId: string): Promise<string | undefined> {
  const sql = 'SELECT facts FROM answers WHERE request_id = ?'
  const [row] = await file.all<Pick<AnswerRow, 'facts'>>(sql, [requestId])
  return row?.facts
}

/** In the order in which they have to make room. */
export const listFirstToGo = (file: SqliteFile, limit: number): Promise<AnswerSize[]> =>
  file.all<AnswerSize>('SELECT rowid, bytes FROM answers ORDER BY expires_at LIMIT ?', [limit])

export const listExpired = (file: SqliteFile, now: number, limit: number): Promise<AnswerSize[]> =>
  file.all<AnswerSize>('SELECT rowid, bytes FROM answers WHERE expires_at <= ? ORDER BY expires_at LIMIT ?', [
    now,
    limit,
  ])

export const findAnswerSize = (file: SqliteFile, requestId: string): Promise<AnswerSize[]> =>
  file.all<AnswerSize>('SELECT rowid, bytes FROM answers WHERE request_id = ?', [requestId])

export async function deleteAnswers(file: SqliteFile, answers: readonly AnswerSize[]): Promise<void> {
  await file.atomic([{ sql: 'DELETE FROM answers WHERE rowid = ?', rows: answers.map(({ rowid }) => [rowid]) }])
}

export async function sumAnswerBytes(file: SqliteFile): Promise<number> {
  const [row] = await file.all<{ bytes: number }>('SELECT COALESCE(SUM(bytes), 0) AS bytes FROM answers', [])
  return row!.bytes
}
