import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestPeople, type TestPeople } from '../../test/fixtures/admin/people.ts'
import { listAuditFrom } from '../db/audit.ts'
import type { SqlValue } from '../db/sql-store.ts'
import { auditHash, verifyAudit } from './audit.ts'
import { createSignInServices } from './sessions.ts'

let people: TestPeople
beforeEach(async () => {
  people = await openTestPeople()
})
afterEach(() => people.close())

const record = (detail: string) => people.services.audit.record({ actor: 'operator', action: 'key_changed', detail })
const verify = () => verifyAudit(people.services)

/** What a thief of the machine could do: the triggers go first. */
const tamper = (sql: string, ...row: SqlValue[]) =>
  people.database.file.atomic([
    { sql: 'DROP TRIGGER IF EXISTS audit_is_final', rows: [[]] },
    { sql: 'DROP TRIGGER IF EXISTS audit_stays', rows: [[]] },
    { sql, rows: [row] },
  ])

describe('the chain', () => {
  it('of an empty log holds', async () => {
    expect(await verify()).toEqual({ rows: 0, violations: 0, broken_at: null, head: '00'.repeat(32) })
  })

  it('holds for fifty concurrent actions, and across a restart', async () => {
    await Promise.all(Array.from({ length: 50 }, (_, index) => record(`act ${index}`)))
    const { db, file, clock, random, consoleUrl, invitationMail, totpSeals } = people.services
    const lockouts = { keep: () => {}, drop: () => {} }
    const secret = Buffer.alloc(32)
    const scene = {
      db,
      file,
      clock,
      random,
      consoleUrl,
      invitationMail,
      totpSeals,
      lockouts,
      secret,
      onFailure: () => {},
    }
    const next = createSignInServices(scene)
    await next.audit.record({ actor: 'a@example.com', action: 'signed_in' })
    const proof = await verify()
    expect(proof).toMatchObject({ rows: 51, violations: 0, broken_at: null })
    expect(proof.head).toMatch(/^[0-9a-f]{64}$/)
    const seqs = (await people.rows('SELECT seq, detail FROM audit ORDER BY seq')).map(({ seq }) => seq)
    expect(seqs).toEqual(Array.from({ length: 51 }, (_, index) => index + 1))
  })

  it('holds for any user agent', async () => {
    for (const detail of ['', 'a\0b', '\ud800 alone', 'x'.repeat(10_000), '\u202e"]}', 'line\nline'])
      await record(detail)
    expect(await verify()).toMatchObject({ rows: 6, violations: 0 })
    const details = (await people.rows('SELECT detail FROM audit')).map(({ detail }) => String(detail))
    expect(details.every((detail) => !/\p{Cc}/u.test(detail) && detail.length <= 500)).toBe(true)
  })

  it('holds across slices', async () => {
    await Promise.all(Array.from({ length: 2001 }, (_, index) => record(`act ${index}`)))
    expect(await verify()).toMatchObject({ rows: 2001, violations: 0 })
  })

  it.each([
    ['another detail', `UPDATE audit SET detail = 'nothing' WHERE seq = 3`, 3],
    ['another time', 'UPDATE audit SET at = at + 1 WHERE seq = 3', 3],
    ['another actor', `UPDATE audit SET actor = 'system' WHERE seq = 1`, 1],
    ['an account that may read it', 'UPDATE audit SET account = 1 WHERE seq = 5', 5],
    ['a row that is gone', 'DELETE FROM audit WHERE seq = 2', 3],
    ['a first row that is gone', 'DELETE FROM audit WHERE seq = 1', 2],
    ['a row in another place', 'UPDATE audit SET seq = 9 WHERE seq = 5', 9],
    ['another hash', `UPDATE audit SET hash = zeroblob(32) WHERE seq = 4`, 4],
  ])('shows %s', async (_, sql, brokenAt) => {
    await people.makeAccount('a@example.com')
    for (let act = 1; act <= 5; act++) await record(`act ${act}`)
    await tamper(sql)
    const proof = await verify()
    expect(proof.broken_at).toBe(brokenAt)
    expect(proof.violations).toBeGreaterThan(0)
  })

  it('detects a forged row with a matching hash', async () => {
    for (let act = 1; act <= 5; act++) await record(`act ${act}`)
    const row = (await listAuditFrom(people.services.db, 2, 1))[0]!
    await tamper(`UPDATE audit SET detail = 'forged', hash = ? WHERE seq = 3`, auditHash({ ...row, detail: 'forged' }))
    expect(await verify()).toMatchObject({ violations: 1, broken_at: 4 })
  })

  it('detects a missing row whose neighbours were chained', async () => {
    for (let act = 1; act <= 3; act++) await record(`act ${act}`)
    const [one, , three] = await listAuditFrom(people.services.db, 0, 3)
    const row = { ...three!, prev_hash: one!.hash }
    const sql = 'UPDATE audit SET prev_hash = ?, hash = ? WHERE seq = 3'
    await tamper(sql, row.prev_hash, auditHash(row))
    await tamper('DELETE FROM audit WHERE seq = 2')
    expect(await verify()).toMatchObject({ violations: 1, broken_at: 3 })
  })

  it('has another head when its end was cut off', async () => {
    for (let act = 1; act <= 5; act++) await record(`act ${act}`)
    const { head } = await verify()
    await tamper('DELETE FROM audit WHERE seq = 5')
    expect((await verify()).head).not.toBe(head)
  })
})

describe('the table', () => {
  it('refuses edits and deletions', async () => {
    await record('act')
    const run = (sql: string) => people.database.file.atomic([{ sql, rows: [[]] }])
    await expect(run(`UPDATE audit SET detail = 'x'`)).rejects.toThrow('never edited')
    await expect(run('DELETE FROM audit')).rejects.toThrow('never deleted')
  })

  it('refuses a row that does not follow the last one, and continues after the last one', async () => {
    await record('one')
    await record('two')
    await tamper('DELETE FROM audit WHERE seq = 2')
    await expect(record('three')).rejects.toThrow()
    await record('three again')
    expect(await verify()).toMatchObject({ rows: 2, violations: 0 })
  })

  it('has neither the action nor its entry when one of them fails', async () => {
    const account = { sql: `INSERT INTO meta VALUES ('note', 'x')`, rows: [[]] }
    const impossible = { sql: 'DELETE FROM meta WHERE name IS NULL', rows: [[]], expectChanges: 1 }
    const entry = { actor: 'operator', action: 'signed_in' } as const
    await expect(people.services.audit.record(entry, [account, impossible])).rejects.toThrow()
    expect(await people.rows(`SELECT * FROM meta WHERE name = 'note'`)).toEqual([])
    expect(await verify()).toMatchObject({ rows: 0 })
    await people.services.audit.record(entry, [account])
    expect(await verify()).toMatchObject({ rows: 1, violations: 0 })
  })
})
