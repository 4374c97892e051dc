import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { dayOf, POSTGRES_BODIES, READ_ITEMS, READ_SEGMENT } from '../../src/db/content/bodies.ts'
import { FUNCTIONS_SCHEMA, TABLE_NAMES, TABLES_SCHEMA } from '../../src/db/postgres/schema.ts'
import { createTranslator } from '../../src/db/postgres/translate.ts'
import type { RequestId } from '../../src/model/ids.ts'
import { ACCOUNT, answered, ended, started, userMessage } from '../fixtures/db/content/stored-responses.ts'
import { bodyOf, DAY_MS, type DaysBench, EVENTS, HOUR_MS, openDaysBench } from './content-days-bench.ts'
import { postgres } from './postgres-ledger.ts'

describe.skipIf(!postgres)('contents in PostgreSQL', () => {
  let bench: DaysBench
  beforeEach(async () => {
    bench = await openDaysBench()
  })
  afterEach(() => bench.close())

  it('lie in the day on which they expire, and are dropped with it', async () => {
    const [{ responses, keep, sweep }] = bench.nodes
    await responses.finish(ended('a', { expiresAt: bench.time + 3 * DAY_MS, events: EVENTS }))
    await keep('b', bench.time + DAY_MS)
    expect(await bench.bodies()).toEqual(['answers 1', 'events 3', 'items 3', 'items 3', 'response_objects 3'])
    bench.time += DAY_MS + HOUR_MS
    await sweep()
    // Its row has expired; the content is left for the drop.
    expect(await bench.rowsOf('SELECT FROM millrace.answers')).toEqual([])
    expect(await bench.days()).toEqual([dayOf(bench.time) + 2])
    expect(await bench.framesOf('a')).toEqual(EVENTS)
    bench.time += 2 * DAY_MS
    await sweep()
    expect([await bench.days(), await bench.faults(), bench.failures]).toEqual([[], [], []])
  })

  it('of a day that has live ones stay as they expire, for the drop of the whole day', async () => {
    const [{ responses, keep, sweep }] = bench.nodes
    await responses.finish(ended('first', { expiresAt: bench.time + HOUR_MS }))
    await keep('first', bench.time + HOUR_MS)
    await keep('second', bench.time + 2 * HOUR_MS)
    const before = await bench.bodies()
    bench.time += HOUR_MS
    await sweep()
    expect(await bench.rowsOf('SELECT FROM millrace.responses')).toEqual([])
    expect(await bench.bodies()).toEqual(before)
    bench.time += HOUR_MS
    await sweep()
    expect(await bench.days()).toEqual([])
  })

  it('go at once when they are deleted, their account is closed or they make room', async () => {
    const [{ responses, answers, keep, sweep }] = bench.nodes
    const expiresAt = bench.time + HOUR_MS
    const stays = ended('stays', { account: 'acct_other' as typeof ACCOUNT, expiresAt, events: EVENTS })
    await responses.finish(stays)
    const others = await bench.bodies()
    await responses.finish(ended('a', { expiresAt, events: EVENTS }))
    await keep('a', expiresAt)
    await responses.remove({ account: ACCOUNT }, 'resp_a')
    await answers.forget('req_a' as RequestId)
    await sweep()
    expect(await bench.bodies()).toEqual(others)
    await responses.finish(ended('b', { expiresAt, events: EVENTS }))
    await responses.forgetAccount(ACCOUNT)
    expect(await bench.bodies()).toEqual(others)
    const small = await bench.openNode({ bytesMax: 8000 })
    const noise = randomBytes(6000).toString('base64')
    await small.responses.finish(
      ended('c', { account: 'acct_third' as typeof ACCOUNT, expiresAt: expiresAt + 1, output: [answered('m', noise)] }),
    )
    await small.keep('c', expiresAt)
    expect(await bench.rowsOf('SELECT response FROM millrace.responses')).toHaveLength(1)
    expect(await bench.faults()).toEqual([])
    expect(await bench.bodies()).toEqual(['answers 0', 'items 0', 'items 0', 'response_objects 0'])
    expect(bench.failures).toEqual([])
  })

  it('that a later response refers to outlive their day', async () => {
    const [{ responses, sweep }] = bench.nodes
    const shared = [userMessage('said in both')]
    await responses.finish(ended('early', { input: shared, expiresAt: bench.time + DAY_MS }))
    await responses.finish(ended('late', { input: shared, expiresAt: bench.time + 9 * DAY_MS }))
    bench.time += 2 * DAY_MS
    // One run carries, the next one drops.
    await sweep()
    expect(await bench.days()).toContain(dayOf(bench.time) - 1)
    await sweep()
    expect(await bench.days()).toEqual([dayOf(bench.time) + 3, dayOf(bench.time) + 7])
    expect(await bench.textsOf('late')).toEqual([String(shared[0]), expect.stringContaining('answer late')])
    expect(await bench.textsOf('early')).toBe('not-found')
    bench.time += 7 * DAY_MS
    await sweep()
    await sweep()
    expect([await bench.days(), await bench.faults(), bench.failures]).toEqual([[], [], []])
  })

  it('that a chain needs outlive their day; the object and the events of its beginning do not', async () => {
    const [{ responses, sweep }] = bench.nodes
    await responses.finish(ended('parent', { expiresAt: bench.time + DAY_MS, events: EVENTS }))
    await responses.finish(ended('hidden', { expiresAt: bench.time + DAY_MS, events: EVENTS, parent: 'resp_parent' }))
    await responses.finish(ended('child', { expiresAt: bench.time + 5 * DAY_MS, parent: 'resp_hidden' }))
    await responses.remove({ account: ACCOUNT }, 'resp_hidden')
    const whole = await bench.textsOf('child')
    bench.time += 2 * DAY_MS
    await sweep()
    expect(await bench.faults()).toEqual([])
    await sweep()
    expect(await bench.days()).toEqual([dayOf(bench.time) + 3])
    expect(whole).toHaveLength(6)
    expect(await bench.textsOf('child')).toEqual(whole)
    expect(await bench.rowsOf('SELECT FROM millrace.response_objects')).toHaveLength(1)
    expect([await bench.faults(), bench.failures]).toEqual([[], []])
  })

  it('of a response that ends after it has expired or was deleted are written all the same, and go', async () => {
    const [{ responses, sweep }] = bench.nodes
    await responses.begin(started('slow', { expiresAt: bench.time + HOUR_MS }))
    await responses.begin(started('deleted', { expiresAt: bench.time + 9 * DAY_MS }))
    await responses.remove({ account: ACCOUNT }, 'resp_deleted')
    bench.time += 2 * DAY_MS
    await sweep()
    await sweep()
    expect(await responses.finish(ended('slow', { expiresAt: bench.time - 47 * HOUR_MS }))).toBe(true)
    expect(await responses.finish(ended('deleted', { expiresAt: bench.time + 7 * DAY_MS }))).toBe(true)
    expect(await bench.faults()).toEqual([])
    await sweep()
    await sweep()
    expect([await bench.days(), await bench.faults(), bench.failures]).toEqual([[], [], []])
  })

  it('are dropped while another uses the table only once that has ended, and make no reader wait', async () => {
    const [{ keep, sweep, answers }] = bench.nodes
    await keep('old', bench.time + HOUR_MS)
    await keep('new', bench.time + 9 * DAY_MS)
    bench.time += 2 * DAY_MS
    const reader = await bench.admin.connect()
    await reader.query('BEGIN; SELECT FROM millrace.bodies LIMIT 1')
    await sweep()
    expect(await bench.days()).toHaveLength(2)
    // Other tests have databases on the same server.
    const here = '(SELECT oid FROM pg_database WHERE datname = current_database())'
    expect(await bench.rowsOf(`SELECT FROM pg_locks WHERE NOT granted AND database = ${here}`)).toEqual([])
    expect(await (await answers.find('req_new' as RequestId, ACCOUNT))!.read()).toEqual(bodyOf('new'))
    await reader.query('COMMIT')
    reader.release()
    await sweep()
    expect(await bench.days()).toHaveLength(1)
    expect(bench.failures).toEqual([])
  })

  it('find their days when nodes make and drop them at once', async () => {
    for (let round = 0; round < 15; round++) {
      const at = bench.time + round * DAY_MS
      const kept = bench.nodes.flatMap(({ keep }, node) => [
        keep(`${round} ${node}`, at),
        keep(`x${round} ${node}`, at + 1),
      ])
      const stored = bench.nodes.map(({ responses }, node) =>
        responses.finish(ended(`${round}-${node}`, { expiresAt: at + 2 })),
      )
      const swept = bench.nodes.map(({ sweep }) => sweep())
      expect(await Promise.all([...kept, ...stored])).toEqual(Array.from({ length: 6 }, () => true))
      await Promise.all(swept)
      if (round % 3 === 2) bench.time += DAY_MS
    }
    const deadlocks = await bench.rowsOf(
      'SELECT deadlocks::integer FROM pg_stat_database WHERE datname = current_database()',
    )
    expect([await bench.faults(), bench.failures, deadlocks]).toEqual([[], [], [{ deadlocks: 0 }]])
  })

  it('are kept and dropped by a role that may create nothing', async () => {
    const role = `serving_${process.pid}`
    await bench.admin.query(`CREATE ROLE ${role} LOGIN;
      GRANT USAGE ON SCHEMA ${TABLES_SCHEMA}, ${FUNCTIONS_SCHEMA} TO ${role};
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${TABLES_SCHEMA} TO ${role};
      GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${TABLES_SCHEMA} TO ${role};
      GRANT EXECUTE ON FUNCTION ${TABLES_SCHEMA}.make_body_days(text), ${TABLES_SCHEMA}.drop_body_day() TO ${role}`)
    const url = bench.url.replace(postgres!.user, role)
    try {
      const { content, responses, keep, sweep } = await bench.openNode({ url })
      await expect(content.all('CREATE TABLE millrace.mine ()', [])).rejects.toThrow('permission denied')
      const shared = [userMessage('said in both')]
      await responses.finish(ended('a', { input: shared, events: EVENTS, expiresAt: bench.time + HOUR_MS }))
      await responses.finish(ended('b', { input: shared, expiresAt: bench.time + 9 * DAY_MS }))
      await keep('a', bench.time + HOUR_MS)
      expect(await bench.framesOf('a')).toEqual(EVENTS)
      bench.time += 2 * DAY_MS
      await sweep()
      await sweep()
      expect(await bench.days()).toEqual([dayOf(bench.time) + 3, dayOf(bench.time) + 7])
      expect(await bench.textsOf('b')).toHaveLength(2)
      // Tables of the caller's that are called like ours change nothing for the functions that run as the owner.
      const caller = bench.connect(1)
      await caller.query(
        `SET ROLE ${role}; CREATE TEMP TABLE bodies (day integer); CREATE TEMP VIEW answers AS SELECT 0 AS day`,
      )
      await caller.query("SELECT millrace.make_body_days('[1]'), millrace.drop_body_day()")
      expect([await bench.faults(), bench.failures]).toEqual([[], []])
    } finally {
      await bench.admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`)
    }
  })

  it('are read from one partition, named by their rows', async () => {
    const [{ responses, keep }] = bench.nodes
    for (let day = 0; day < 20; day++) await keep(`${day}`, bench.time + day * DAY_MS)
    await responses.finish(ended('a', { expiresAt: bench.time + DAY_MS, events: EVENTS }))
    const translate = createTranslator({
      ...{ tables: new Set(TABLE_NAMES), tablesSchema: TABLES_SCHEMA, functionsSchema: FUNCTIONS_SCHEMA },
      spelled: POSTGRES_BODIES,
    })
    const reads: [string, (string | number)[]][] = [
      [READ_ITEMS, ['[1,2]']],
      [READ_SEGMENT, [1, -1]],
      ...[...POSTGRES_BODIES.keys()]
        .filter((sql) => sql.startsWith('SELECT') && sql !== READ_ITEMS && sql !== READ_SEGMENT)
        .map((sql): [string, (string | number)[]] => [sql, [sql.includes('answers') ? 'req_7' : 1]]),
    ]
    expect(reads).toHaveLength(4)
    const reader = await bench.admin.connect()
    // Small tables are read whole otherwise.
    await reader.query('SET enable_seqscan = off')
    for (const [sql, values] of reads) {
      await reader.query('BEGIN')
      const { rows } = await reader.query(translate(sql, values), values)
      expect([sql, rows.length]).toEqual([sql, sql === READ_ITEMS ? 2 : 1])
      const { rows: locked } = await reader.query(`SELECT relname FROM pg_locks JOIN pg_class ON pg_class.oid = relation
        WHERE pid = pg_backend_pid() AND relname ~ '^bodies_[0-9]+$'`)
      expect([sql, locked.length]).toEqual([sql, 1])
      await reader.query('COMMIT')
      const { rows: plan } = await reader.query(`EXPLAIN ${translate(sql, values)}`, values)
      expect(plan.map((line) => line['QUERY PLAN']).join('\n')).not.toContain('Seq Scan')
    }
    reader.release()
  })
})
