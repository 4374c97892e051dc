import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FUNCTIONS_SCHEMA } from '../../src/db/postgres/schema.ts'
import { findPgBouncer, type PgBouncer, startPgBouncer } from '../program/pgbouncer.mjs'
import { answerOf, chat, hello, send } from '../support/send-chat.ts'
import { asAdmin, postgresUrl, useDatabaseOf } from '../support/server-on-postgres.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { openAccount } from '../support/test-account.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { postgres } from './postgres-ledger.ts'

const config = `${TEST_CONFIG}key_ring: { secret_key: the-secret-that-the-nodes-of-a-test-share }\n`

/** Everything that a server asks of its database in a day, in small. */
async function expectToServe(server: TestServer): Promise<void> {
  const account = await openAccount(server)
  const options = { headers: { 'idempotency-key': 'once' } }
  const ask = async () => (await send(server, account, { model: 'swift', messages: hello() }, options)).text()
  expect(await ask()).toBe(await ask())
  const path = '/responses'
  const stored = await answerOf(await send(server, account, { model: 'swift', input: 'hi', store: true }, { path }))
  const next = { model: 'swift', input: 'and', previous_response_id: stored.json.id }
  expect((await answerOf(await send(server, account, next, { path }))).status).toBe(200)
  const all = await Promise.all(Array.from({ length: 40 }, () => chat(server, account)))
  expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]))
  await server.operate('keys.create', { account: account.id, kind: 'builder', name: 'second' })
  expect(await server.operate('db.verify', {})).toMatchObject({ ok: true, violations: 0 })
}

const program = findPgBouncer()
if (program === undefined) console.log('No PgBouncer here (Debian: apt-get install pgbouncer): its test is skipped.')

describe.skipIf(!postgres || program === undefined)('behind PgBouncer in transaction mode', () => {
  let bouncer: PgBouncer
  beforeAll(async () => {
    bouncer = await startPgBouncer(program!, postgres!)
  })
  afterAll(() => bouncer.stop())

  it('a server installs its schema and serves', async () => {
    const server = await startServer({ config, postgresUrl: (database) => bouncer.urlOf(database) })
    try {
      await expectToServe(server)
    } finally {
      await server.close()
    }
  })
})

describe.skipIf(!postgres)('a role without the right to create anything', () => {
  it('serves once the owner has installed the schema', async () => {
    const first = await startServer({ config })
    const database = readFileSync(join(first.folder, 'postgres-database'), 'utf8')
    // As docs/operate/postgres.md says.
    await asAdmin(
      `DROP ROLE IF EXISTS serving;
       CREATE ROLE serving LOGIN;
       GRANT USAGE ON SCHEMA millrace, ${FUNCTIONS_SCHEMA} TO serving;
       GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA millrace TO serving;
       GRANT USAGE ON ALL SEQUENCES IN SCHEMA millrace TO serving;
       GRANT EXECUTE ON FUNCTION millrace.make_body_days(text), millrace.drop_body_day() TO serving;`,
      database,
    )
    const prepare = (folder: string) => useDatabaseOf(first.folder, folder)
    const asServing = (name: string) => postgresUrl(name).replace(postgres!.user, 'serving')
    const second = await startServer({ config, prepare, postgresUrl: asServing })
    try {
      await expectToServe(second)
    } finally {
      await second.close()
      await first.close()
      await asAdmin('DROP ROLE IF EXISTS serving').catch(() => {})
    }
  })
})
