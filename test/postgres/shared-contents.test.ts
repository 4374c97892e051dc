import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { addRefusedTurns, readRefusedBefore } from '../../src/db/content/refused-turns.ts'
import { createStoredResponses } from '../../src/db/content/stored-responses.ts'
import { openPostgres, type PostgresDatabase } from '../../src/db/postgres/open-database.ts'
import { ACCOUNT, ended, RING_KEY, STRANGER, started } from '../fixtures/db/content/stored-responses.ts'
import { postgresUrl } from '../support/server-on-postgres.ts'
import { createEmptyDatabase, type EmptyDatabase, postgres } from './postgres-ledger.ts'

/** Quarters of an hour, each begun by two nodes at once. */
const QUARTERS = 40

describe.skipIf(!postgres)('two nodes that count refused turns', () => {
  it('lose none, also where a quarter begins', async () => {
    const database = await createEmptyDatabase()
    const open = () => openPostgres({ url: postgresUrl(database.database), mayLoseCommits: true, onTrouble() {} })
    const nodes = [await open(), await open()]
    const refused = { account: 'a', key: 'k', kind: 'wallet', code: 'rate_limit_exceeded', count: 1 } as const
    for (let quarter = 0; quarter < QUARTERS; quarter++) {
      // One is late by a quarter.
      await Promise.all(
        nodes.map(({ content }, late) => addRefusedTurns(content, [{ ...refused, quarter: quarter - late }])),
      )
    }
    const [total] = await readRefusedBefore(nodes[0]!.content, { account: 'a' }, [QUARTERS])
    expect(total).toMatchObject({ total: 2 * QUARTERS })
    await Promise.all(nodes.map((node) => node.close()))
    await database.drop()
  })
})

const ROUNDS = 30
const SHORT = 2000

describe.skipIf(!postgres)('two nodes that store and delete responses of one account', () => {
  let database: EmptyDatabase
  let opened: PostgresDatabase[]
  let nodes: ReturnType<typeof createStoredResponses>[]
  let failures: unknown[]
  let time: number

  beforeEach(async () => {
    database = await createEmptyDatabase()
    failures = []
    time = 1000
    const open = () => openPostgres({ url: postgresUrl(database.database), mayLoseCommits: true, onTrouble() {} })
    opened = [await open()]
    opened.push(await open())
    nodes = opened.map(({ content }) =>
      createStoredResponses({
        ...{ file: content, sealingKeys: [RING_KEY], now: () => time, bytesMax: 100_000_000, isShared: true },
        onFailure: (error) => failures.push(error),
      }),
    )
  })
  afterEach(async () => {
    await Promise.all(opened.map((each) => each.close()))
    await database.drop()
  })

  const count = async (table: string) => {
    const sql = `SELECT COUNT(*) AS count FROM ${table}`
    return Number((await opened[0]!.content.all<{ count: number }>(sql, []))[0]!.count)
  }
  const ofAll = async () => ({
    responses: await count('responses'),
    items: await count('items'),
    keys: await count('account_keys'),
    links: await count('response_items'),
  })

  it('leave nothing when each deletes one of the last two at once', async () => {
    const output = [Buffer.from('{"type":"message","content":"shared by both"}')]
    const names = ['a', 'b']
    await Promise.all(nodes.map((node, at) => node.finish(ended(names[at]!, { input: output, output }))))
    expect(await ofAll()).toEqual({ responses: 2, items: 1, keys: 1, links: 4 })
    const { rows } = await database.connect().query('SELECT response FROM millrace.responses ORDER BY response')
    const [first, second] = [database.connect(1), database.connect(1)]
    await first.query('BEGIN')
    await first.query('DELETE FROM millrace.responses WHERE response = $1', [rows[0].response])
    // It waits for the first one, or does not look at what that one leaves.
    const deleted = second.query('DELETE FROM millrace.responses WHERE response = $1', [rows[1].response])
    const { rows: waits } = await first.query('SELECT pg_sleep(0.1)')
    expect(waits).toHaveLength(1)
    await first.query('COMMIT')
    await deleted
    expect(await ofAll()).toEqual({ responses: 0, items: 0, keys: 0, links: 0 })
  })

  it('keep what one writes while the other deletes all that it refers to', async () => {
    const [writer, deleter] = nodes as [(typeof nodes)[0], (typeof nodes)[0]]
    const input = [Buffer.from('{"type":"message","role":"user","content":"said again"}')]
    for (let round = 0; round < ROUNDS; round++) {
      const earlier = ended(`earlier${round}`, { input, expiresAt: time + SHORT })
      expect(await deleter.finish(earlier)).toBe(true)
      await deleter.remove({ account: ACCOUNT }, earlier.id)
      const later = ended(`later${round}`, { input, expiresAt: time + SHORT })
      const [isStored] = await Promise.all([writer.finish(later), deleter.sweep()])
      expect([isStored, failures]).toEqual([true, []])
      const context = await deleter.context({ account: ACCOUNT }, later.id, 1_000_000)
      expect(context.kind === 'found' && context.items.map(String)).toEqual([String(input[0]), expect.any(String)])
      time += SHORT
      await Promise.all(nodes.map((node) => node.sweep()))
      expect(await ofAll()).toEqual({ responses: 0, items: 0, keys: 0, links: 0 })
    }
  })

  it('never wait for each other in a circle', async () => {
    const accounts = [ACCOUNT, STRANGER]
    const input = [1, 2, 3].map((number) => Buffer.from(`{"type":"message","content":"said by all ${number}"}`))
    for (let round = 0; round < ROUNDS; round++) {
      const write = async (node: (typeof nodes)[0], at: number) => {
        // Each node begins with another account.
        for (const account of at === 0 ? accounts : accounts.toReversed()) {
          const parent = ended(`parent${round}${at}`, { account, input, expiresAt: time + SHORT })
          const child = { account, input: input.toReversed(), expiresAt: time + SHORT, parent: parent.id }
          expect(await node.finish(parent)).toBe(true)
          expect(await node.finish(ended(`child${round}${at}`, child))).toBe(true)
        }
      }
      await Promise.all([...nodes.map(write), ...nodes.map((node) => node.sweep())])
      time += SHORT / 2
    }
    const refused = accounts.map(
      (account) => ({ account, key: 'k', kind: 'wallet', code: 'rate_limit_exceeded' }) as const,
    )
    const counted = refused.map((each) => ({ ...each, quarter: 1, count: 1 }))
    for (let round = 0; round < ROUNDS; round++) {
      const [one, other] = opened.map(({ content }) => content)
      await Promise.all([addRefusedTurns(one!, counted), addRefusedTurns(other!, counted.toReversed())])
    }
    const { rows } = await database
      .connect()
      .query('SELECT deadlocks::integer FROM pg_stat_database WHERE datname = current_database()')
    expect([failures, rows]).toEqual([[], [{ deadlocks: 0 }]])
  })

  it('finds what the other has stored under the next key of the account', async () => {
    const [one, other] = nodes as [(typeof nodes)[0], (typeof nodes)[0]]
    expect(await one.finish(ended('first'))).toBe(true)
    await other.remove({ account: ACCOUNT }, 'resp_first')
    await other.sweep()
    expect(await other.finish(ended('second'))).toBe(true)
    expect(await one.find({ account: ACCOUNT }, 'resp_second')).toMatchObject({ status: 'completed' })
    expect(await one.find({ account: ACCOUNT }, 'resp_third')).toBeUndefined()
  })

  it('store the answers of a group in which the other node has ended one', async () => {
    const [one, other] = nodes as [(typeof nodes)[0], (typeof nodes)[0]]
    for (let round = 0; round < ROUNDS; round++) {
      const names = [`x${round}`, `y${round}`, `z${round}`]
      for (const name of names) expect(await one.begin(started(name))).toBe(true)
      const stored = names.map((name) => one.finish(ended(name)))
      await Promise.all([other.forget(`resp_x${round}`, ACCOUNT), ...stored])
      expect((await Promise.all(stored)).slice(1)).toEqual([true, true])
    }
    expect(failures).toEqual([])
  })
})
