import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as argon2 from '@node-rs/argon2'
import { Kysely } from 'kysely'
import { createPasswords } from '../auth/hash-password.ts'
import { type Database, openDatabase } from '../db/open-database.ts'
import { insertAccount } from '../db/set-up.fixture.ts'
import { createSqliteDialect } from '../db/sqlite/kysely-dialect.ts'
import { rememberSent, type SentStatements } from '../db/sqlite/remember-sent.fixture.ts'
import type { SqlRow } from '../db/sqlite/sqlite-file.ts'
import type { LedgerDb, LedgerTables, Role } from '../db/tables.ts'
import type { Clock } from '../lib/clock.ts'
import { secureRandom } from '../lib/random-id.ts'
import { mintAccountId } from '../model/ids.ts'
import { invitePerson, signUp } from './invitations.ts'
import type { Outcome, Refused } from './outcome.ts'
import { createPeopleDeps, type PeopleDeps } from './people-deps.ts'
import type { Client, SignedIn } from './sessions.ts'

export const PASSWORD = 'correct horse battery'
export const HERE: Client = { agent: 'Browser 1.0', address: '203.0.113.7' }

/** People on a real file, with a clock that stands until a test moves it. */
export interface TestPeople {
  readonly deps: PeopleDeps
  readonly database: Database
  /** Every statement that the use cases have sent, with the values of the first time. */
  readonly sent: Readonly<SentStatements>
  /** How many passwords were computed. */
  hashes(): number
  pass(ms: number): void
  rows(sql: string): Promise<SqlRow[]>
  makeAccount(email: string): Promise<string>
  /** Somebody who has signed up, and the session that this opened. */
  make(email: string, role: Role): Promise<SignedIn>
  close(): Promise<void>
}

export async function openTestPeople(): Promise<TestPeople> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-people-'))
  let ms = Date.UTC(2026, 10, 22)
  let computed = 0
  const clock: Clock = { now: () => ms, nowMicros: () => ms * 1000 }
  const engine = {
    hash: (...call: Parameters<typeof argon2.hash>) => counted(() => argon2.hash(...call)),
    verify: (...call: Parameters<typeof argon2.verify>) => counted(() => argon2.verify(...call)),
  }
  const counted = <Result>(compute: () => Result): Result => {
    computed += 1
    return compute()
  }
  const database = await openDatabase({ path: join(folder, 'ledger.db'), clock })
  const sent: SentStatements = new Map()
  const file = rememberSent(database.file, sent)
  const db: LedgerDb = new Kysely<LedgerTables>({ dialect: createSqliteDialect(file) })
  const deps = createPeopleDeps({
    ...{ db, file, clock, random: secureRandom, secret: Buffer.alloc(32, 7) },
    consoleUrl: () => 'https://example.com/console',
    lockouts: { keep: () => {}, drop: () => {} },
    onFailure: (error) => {
      throw error
    },
    passwords: createPasswords({ engine }),
  })
  const makeAccount = async (email: string) => {
    const id = mintAccountId(secureRandom)
    await insertAccount(file, { id, email, createdAt: ms })
    return id
  }
  return {
    ...{ deps, database, sent, makeAccount },
    hashes: () => computed,
    pass: (by) => {
      ms += by
    },
    rows: (sql) => database.file.all(sql, []),
    async make(email, role) {
      if (role === 'owner') await makeAccount(email)
      const { code } = given(await invitePerson(deps, { role, email }, 'operator'))
      return given(await signUp(deps, { code, password: PASSWORD }, HERE))
    },
    async close() {
      await database.close()
      rmSync(folder, { recursive: true })
    },
  }
}

export function given<Value>(outcome: Outcome<Value>): Value {
  if (outcome.kind === 'refused') throw new Error(`${outcome.reason}: ${outcome.message}`)
  return outcome.value
}

export function refusalOf(outcome: Outcome<unknown>): Refused {
  if (outcome.kind === 'done') throw new Error(`not refused: ${JSON.stringify(outcome.value)}`)
  return outcome
}
