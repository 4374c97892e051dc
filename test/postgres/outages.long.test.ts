import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findPostgresPrograms, startPostgres } from '../program/postgres.mjs'
import { createAccount, createKey, millrace, placeIn, startServer as startProgram } from '../program/program.mjs'
import { expectProblem } from '../support/expect-problem.ts'
import { chat, hello, send } from '../support/send-chat.ts'
import { asAdmin, postgresUrl } from '../support/server-on-postgres.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { openAccount } from '../support/test-account.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { until } from '../support/until.ts'
import { postgres } from './postgres-ledger.ts'

const SECRET = 'the-secret-that-the-nodes-of-a-test-share'

describe.skipIf(!postgres)('a server whose database', () => {
  let server: TestServer
  let database: string
  beforeAll(async () => {
    server = await startServer({ config: `${TEST_CONFIG}key_ring: { secret_key: ${SECRET} }\n` })
    database = readFileSync(join(server.folder, 'postgres-database'), 'utf8')
  })
  afterAll(() => server.close())

  it('ends statements that take too long: says so, charges nothing, and goes on', async () => {
    const [account, other] = [await openAccount(server), await openAccount(server)]
    const locker = new pg.Client({ connectionString: postgresUrl(database) })
    await locker.connect()
    await asAdmin(`ALTER DATABASE ${database} SET statement_timeout = '200ms'`)
    // The setting counts for new connections.
    await asAdmin(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}' AND application_name LIKE 'millrace%'`,
    )
    await until(async () => (await chat(server, account)).status === 200)
    const before = (await account.wallet()).balance
    await locker.query('BEGIN')
    await locker.query(
      `SELECT FROM millrace.buckets JOIN millrace.accounts ON accounts.row = account
        WHERE id = '${account.id}' AND kind = 'wallet' FOR UPDATE OF buckets`,
    )
    const refused = await chat(server, account)
    expectProblem(refused, 'ledger_unavailable')
    expect(refused.headers.get('retry-after')).toBe('2')
    await locker.query('ROLLBACK')
    await locker.end()
    await asAdmin(`ALTER DATABASE ${database} RESET statement_timeout`)
    await until(async () => (await chat(server, account)).status === 200)
    expect((await chat(server, other)).status).toBe(200)
    const charged = (await account.receipts()).reduce((sum, { charge_nano }) => sum + (charge_nano ?? 0n), 0n)
    expect(before).toBeGreaterThan((await account.wallet()).balance)
    expect(charged).toBeGreaterThan(0n)
    expect(await server.operate('db.verify', {})).toMatchObject({ ok: true, violations: 0 })
  })

  it('takes no connection: refuses with a time to wait, and serves again by itself', async () => {
    const account = await openAccount(server)
    await asAdmin(`ALTER DATABASE ${database} ALLOW_CONNECTIONS false`)
    await asAdmin(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`)
    const refused = await chat(server, account)
    expectProblem(refused, 'ledger_unavailable')
    await until(async () => (await fetch(`${new URL(server.baseUrl).origin}/readyz`)).status === 503)
    await asAdmin(`ALTER DATABASE ${database} ALLOW_CONNECTIONS true`)
    await until(async () => (await chat(server, account)).status === 200)
    expect((await fetch(`${new URL(server.baseUrl).origin}/readyz`)).status).toBe(200)
    expect(await server.operate('db.verify', {})).toMatchObject({ ok: true, violations: 0 })
  })
})

const programs = findPostgresPrograms()

describe.skipIf(!postgres || programs === undefined)('a database that comes back without its last minutes', () => {
  it('is served on, and its books hold: what it lost is neither charged nor held', { timeout: 60_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-failover-'))
    const cluster = await startPostgres(programs!, { fsync: false })
    const place = placeIn(folder, { environment: { MILLRACE_SECRET_KEY: SECRET } })
    const database = `postgres://${cluster.user}@localhost/postgres?host=${cluster.host}`
    writeFileSync(
      place.config,
      `storage: { database: "${database}", may_lose_commits: true }
server: { metrics_port: 0 }
upstreams: [{ id: demo, wire: demo }]
models: [{ id: swift, context_tokens: 4000, max_output_tokens: 400, price: { input: "1", output: "2" }, lanes: [{ upstream: demo, model: demo }] }]
`,
    )
    await createAccount(place, { email: 'one@localhost', credit: '10.00' })
    const key = await createKey(place, { email: 'one@localhost' })
    const server = startProgram(place)
    try {
      const node = { baseUrl: `${await server.ready}/v1` }
      const wallet = async () => (await millrace(place, 'wallet', 'show', 'one@localhost')).balance
      expect((await chat(node, key)).status).toBe(200)
      const copied = `${cluster.data}-copied`
      await cluster.crash()
      execFileSync('cp', ['-a', cluster.data, copied])
      await cluster.startAgain()
      const kept = await wallet()
      await until(async () => (await chat(node, key)).status === 200)
      expect(await wallet()).not.toBe(kept)

      const running = await send(node, key, { model: 'swift', stream: true, messages: hello('count to 200') })
      const reader = running.body!.getReader()
      await reader.read()
      await cluster.crash()
      rmSync(cluster.data, { recursive: true })
      execFileSync('mv', [copied, cluster.data])
      await cluster.startAgain()
      let text = ''
      const rest = async () => {
        for (let part = await reader.read(); !part.done; part = await reader.read()) text += Buffer.from(part.value)
      }
      // The connection breaks, or the stream says why.
      await rest().catch((error: unknown) => {
        text += String(error)
      })
      expect(text).not.toContain('[DONE]')

      expect(await wallet()).toBe(kept)
      await until(async () => (await chat(node, key)).status === 200)
      expect(await wallet()).not.toBe(kept)
      server.kill('SIGTERM')
      expect((await server.ended).code).toBe(0)
      expect(await millrace(place, 'db', 'verify')).toMatchObject({ ok: true })
    } finally {
      server.kill('SIGKILL')
      await cluster.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
