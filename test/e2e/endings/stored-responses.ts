import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '../../../src/db/sqlite/connection.ts'
import type { Column } from './columns.ts'
import type { Expected, StoredAs } from './ending.ts'
import type { Participant, RequestInput } from './participants.ts'
import type { StageContext } from './preparations.ts'
import { ROWS } from './rows.ts'

export interface StoredRow {
  readonly status: string
}

/** What lies in the second database of an account, oldest first: an answer that its client never heard of lies there too. */
export async function responsesOf(
  { server, column }: Pick<StageContext, 'server' | 'column'>,
  account: string,
): Promise<readonly StoredRow[]> {
  if (!column.stores) return []
  return server.content.all<StoredRow>(LEFT_BY_ACCOUNT, [account])
}

const LEFT_BY_ACCOUNT = `SELECT status FROM responses WHERE account = (SELECT owner FROM owners WHERE id = ?)
  AND expires_at > 0 ORDER BY response`

/** Reads a copy: a server in another process keeps its files locked. */
export function countResponses(folder: string): number {
  const copy = mkdtempSync(join(tmpdir(), 'millrace-content-'))
  try {
    for (const name of readdirSync(folder))
      if (/^content\.db(-wal)?$/.test(name)) copyFileSync(join(folder, name), join(copy, name))
    const file = connect(join(copy, 'content.db'))
    const rows = file.prepare('SELECT 1 FROM responses').all([])
    file.close()
    return rows.length
  } finally {
    rmSync(copy, { recursive: true })
  }
}

/**
 * What an ending leaves behind. A stream is stored from its beginning, so that who lost it can see what became of it; a
 * JSON answer when it is there.
 */
export function storedAfter({ stores, delivery }: Column, course: Expected): StoredAs {
  if (!stores) return 'absent'
  if (course.stored) return course.stored
  const unfinished = (state: StoredAs): StoredAs => (delivery === 'stream' ? state : 'absent')
  switch (course.seen.kind) {
    case 'whole':
      return 'completed'
    case 'refused':
      return 'absent'
    case 'broken':
      return 'failed'
    case 'gone':
      return STORED_AFTER[course.asIf ?? course.row] ?? unfinished('cancelled')
    case 'nothing':
    case 'cut':
      return STORED_AFTER[course.asIf ?? course.row] ?? unfinished('failed')
  }
}

/** Where the client did not hear the end, it is the row that says whether there was one. */
const STORED_AFTER: Readonly<Record<string, StoredAs>> = {
  [ROWS.complete]: 'completed',
  [ROWS.disconnectedAtEnd]: 'completed',
  [ROWS.countsMissing]: 'completed',
  [ROWS.diedCharged]: 'completed',
  [ROWS.brokeOff]: 'failed',
  [ROWS.failed]: 'absent',
}

/** A client that knows the id of a response may ask for it, and gets what is stored. */
export async function faultsOfStored(
  { server, column }: Pick<StageContext, 'server' | 'column'>,
  { account, key }: Participant,
  { received }: RequestInput,
): Promise<string[]> {
  const [, id] = /"id":"(resp_[^"]+)"/.exec(received.text) ?? []
  if (!column.stores || id === undefined) return []
  const response = await fetch(`${server.baseUrl}/responses/${id}`, { headers: { authorization: `Bearer ${key.key}` } })
  const emitted = response.status === 404 ? 'absent' : ((await response.json()) as { status: string }).status
  const rows = await responsesOf({ server, column }, account.id)
  const faults = rows.length === 0 && emitted !== 'absent' ? [`a response is ${emitted} that there is not`] : []
  if (rows.length > 0 && !rows.some(({ status }) => status === emitted)) faults.push(`a stored response is ${emitted}`)
  return faults
}
