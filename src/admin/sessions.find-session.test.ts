import { Kysely } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestPeople, type TestPeople } from '../../test/fixtures/admin/people.ts'
import { createStoreDialect } from '../db/kysely-dialect.ts'
import type { LedgerTables } from '../db/tables.ts'
import { createSessionFinder, IDLE_MS, SESSION_MS, type SignedIn } from './sessions.ts'

let people: TestPeople
let ann: SignedIn
beforeEach(async () => {
  people = await openTestPeople()
  ann = await people.make('ann@example.com', 'owner')
})
afterEach(() => people.close())

const MINUTE = 60_000
const find = (secret = ann.secret) => people.services.sessions.find(secret)
const seenAt = async () => (await people.rows('SELECT seen_at FROM sessions'))[0]!.seen_at

/** A finder of its own, whose questions are listened to. */
function listening() {
  const asked: string[] = []
  const failures: unknown[] = []
  const log = ({ query }: { query: { sql: string } }) => void asked.push(query.sql.slice(0, 6))
  const db = new Kysely<LedgerTables>({ dialect: createStoreDialect(people.database.file), log })
  const { clock, rules, digestSession: digest } = people.services
  const onFailure = (error: unknown) => void failures.push(error)
  return { asked, failures, finder: createSessionFinder({ db, clock, rules, digest, onFailure }) }
}

describe('a session', () => {
  it('is found only by its secret', async () => {
    expect(await find()).toEqual(ann.session)
    expect(await find(`${ann.secret.slice(0, -1)}${ann.secret.endsWith('A') ? 'B' : 'A'}`)).toBeUndefined()
    for (const text of ['', ann.session.id, `${ann.secret} `, ann.secret.slice(1), 'x'.repeat(100_000)]) {
      expect(await find(text)).toBeUndefined()
    }
  })

  it('ends after twelve hours without use', async () => {
    people.pass(IDLE_MS - 1)
    expect(await find()).toBeDefined()
    people.pass(IDLE_MS - 1)
    expect(await find()).toBeDefined()
    people.pass(IDLE_MS)
    expect(await find()).toBeUndefined()
    people.services.sessions.forgetAll()
    expect(await find()).toBeUndefined()
  })

  it('ends after seven days', async () => {
    for (let hours = 0; hours < 7 * 24 - 1; hours++) {
      people.pass(60 * MINUTE)
      expect(await find()).toBeDefined()
    }
    expect(SESSION_MS).toBe(7 * 24 * 60 * MINUTE)
    people.pass(60 * MINUTE)
    expect(await find()).toBeUndefined()
  })

  it('of a disabled person is invalid', async () => {
    await people.rows('UPDATE people SET disabled_at = 1 RETURNING row')
    people.services.sessions.forgetAll()
    expect(await find()).toBeUndefined()
  })

  it('has the status of its account', async () => {
    await people.rows(`UPDATE accounts SET status = 'suspended' RETURNING row`)
    people.services.sessions.forgetAll()
    expect((await find())?.account).toMatchObject({ status: 'suspended' })
  })

  it('records its use at most once a minute', async () => {
    const start = await seenAt()
    people.pass(MINUTE - 1)
    await find()
    expect(await seenAt()).toBe(start)
    people.pass(1)
    await find()
    expect(await seenAt()).toBe(Number(start) + MINUTE)
  })
})

describe('the session cache', () => {
  it('avoids a query for every request', async () => {
    const { asked, finder } = listening()
    for (let seconds = 0; seconds < 120; seconds++) {
      expect(await finder.find(ann.secret)).toBeDefined()
      people.pass(1000)
    }
    expect(asked).toEqual(['select', 'update'])
  })

  it('ignores malformed secrets', async () => {
    const { asked, finder } = listening()
    await finder.find('mr_session_short')
    expect(asked).toEqual([])
  })

  it('does not cache a session read before a change', async () => {
    const { asked, finder } = listening()
    const reading = finder.find(ann.secret)
    finder.forgetAll()
    await reading
    await finder.find(ann.secret)
    expect(asked).toEqual(['select', 'select'])
  })

  it('continues when the use cannot be recorded', async () => {
    const { failures, finder } = listening()
    await people.database.file.atomic([
      {
        sql: `CREATE TRIGGER full BEFORE UPDATE ON sessions BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`,
        rows: [[]],
      },
    ])
    people.pass(MINUTE)
    expect(await finder.find(ann.secret)).toBeDefined()
    expect(String(failures[0])).toContain('the disk is full')
  })
})
