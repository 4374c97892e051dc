import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openContent } from '../../src/db/content/open-content.ts'
import type { SqlStore } from '../../src/db/sql-store.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { createKey, DIST, millrace } from '../program/program.mjs'
import { expectProblem } from '../support/expect-problem.ts'
import { type Answer, answerOf, get, hello, send } from '../support/send-chat.ts'
import { respond } from '../support/send-responses.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { openAccount } from '../support/test-account.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { expectBalancedLedger } from '../support/use-server.ts'
import { open, sendTurn } from './idempotency/keyed.ts'

/** The secrets by name; the first one is the primary one. */
type Keyring = readonly [keyof typeof SECRETS, ...(keyof typeof SECRETS)[]]
const SECRETS = { k1: 'A'.repeat(43), k2: 'B'.repeat(43), k3: 'C'.repeat(43) }

const QUESTION = { model: 'swift', stream: true, messages: hello('count to 50') }

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-rotates-'))
})
afterEach(() => rm(folder, { recursive: true }))

interface Variant {
  readonly environment: Readonly<Record<string, string>>
  readonly config: string
}

/** Each way in which an operator gives a ring. */
const WAYS: Record<string, (keyring: Keyring) => Promise<Variant>> = {
  'keyring.json': async (keyring) => {
    // In any order: which one is primary stands beside them.
    const keys = keyring.toReversed().map((id) => ({ id, secret: SECRETS[id] }))
    await writeFile(join(folder, 'keyring.json'), JSON.stringify({ version: 1, primary: keyring[0], keys }))
    return { environment: {}, config: TEST_CONFIG }
  },
  MILLRACE_SECRET_KEY: async (keyring) => {
    const secrets = keyring.map((id) => SECRETS[id]).join(' ')
    return {
      environment: { MILLRACE_SECRET_KEY: secrets },
      config: `${TEST_CONFIG}\nkey_ring: { secret_key: "${secrets}" }\n`,
    }
  },
}

async function content<Answer>(work: (file: SqlStore) => Promise<Answer>): Promise<Answer> {
  const file = await openContent({ path: join(folder, 'content.db'), clock: systemClock })
  return work(file).finally(() => file.close())
}

const ringKeysIn = (table: 'answers' | 'account_keys') =>
  content((file) => file.all(`SELECT ring_key FROM ${table} ORDER BY rowid`, []))

const receiptsIn = ({ app }: TestServer) => app.operations.db.selectFrom('receipts').select('row').execute()

const compact = async (server: TestServer, who: { readonly key: string }): Promise<Answer> =>
  answerOf(await send(server, who, { model: 'swift', input: 'A long story' }, { path: '/responses/compact' }))

const goOnFrom = (server: TestServer, who: { readonly key: string }, { json }: Answer): Promise<Answer> =>
  respond(server, who, { input: [...json.output, ...hello()], store: false })

describe.each(Object.entries(WAYS))('a keyring in %s that is rotated', (_, setKeyring) => {
  const start = async (...keyring: Keyring) => startServer({ folder, config: (await setKeyring(keyring)).config })
  const close = async (server: TestServer) => {
    await expectBalancedLedger(server)
    await server.close()
  }
  /** Where commands of the operator find it while no server runs. */
  const placeWith = async (keyring: Keyring) => {
    const { environment, config } = await setKeyring(keyring)
    await writeFile(join(folder, 'millrace.yaml'), config)
    return { dist: DIST, config: join(folder, 'millrace.yaml'), data: folder, environment }
  }

  it('opens what the former primary key sealed, and seals with the new one', async () => {
    const first = await start('k1')
    const account = await openAccount(first)
    const receivedRequest = { key: account.key, idempotencyKey: 'before' }
    const answered = await sendTurn(first, receivedRequest, QUESTION)
    const stored = await respond(first, account, { input: 'Remember me' })
    const compacted = await compact(first, account)
    await close(first)

    const second = await start('k2', 'k1')
    expect((await get(second, account, '/key')).status).toBe(200)
    const again = await sendTurn(second, receivedRequest, QUESTION)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(again.bytes.equals(answered.bytes)).toBe(true)
    const other = await sendTurn(second, receivedRequest, { ...QUESTION, stream: false })
    expect(JSON.parse(other.text).error.code).toBe('idempotency_key_reused')
    expect((await get(second, account, `/responses/${stored.json.id}`)).json).toEqual(stored.json)
    const next = await respond(second, account, { input: 'Go on', previous_response_id: stored.json.id })
    expect(next.status).toBe(200)
    await sendTurn(second, { ...receivedRequest, idempotencyKey: 'after' }, QUESTION)
    expect((await goOnFrom(second, account, compacted)).status).toBe(200)
    expect(await receiptsIn(second)).toHaveLength(6)
    await close(second)

    const [older, newer] = await ringKeysIn('answers')
    expect(older).not.toEqual(newer)
    expect(await ringKeysIn('account_keys')).toEqual([newer])
  })

  it('is used by commands as by the server', async () => {
    const first = await start('k1')
    const account = await openAccount(first)
    await sendTurn(first, account, QUESTION)
    await close(first)

    expect(await millrace(await placeWith(['k2', 'k1']), 'db', 'verify')).toMatchObject({ ok: true })
    const made = await createKey(await placeWith(['k2', 'k1']), { email: account.email, name: 'new' })
    const later: Keyring[] = [['k3', 'k2', 'k1'], ['k1']]
    for (const keyring of later) {
      const server = await start(...keyring)
      expect((await get(server, made, '/key')).status).toBe(200)
      expect((await get(server, account, '/key')).status).toBe(200)
      await close(server)
    }
    await expect(millrace(await placeWith(['k2']), 'db', 'verify')).rejects.toMatchObject({
      code: 1,
      out: expect.stringMatching(/begun with is not on the key ring.*key-ring\.md/),
    })
  })

  it('may lose any key but the database’s first; what a lost key sealed is lost', async () => {
    const first = await start('k1')
    const account = await openAccount(first)
    const stored = await respond(first, account, { input: 'Remember me' })
    await close(first)
    const second = await start('k2', 'k1')
    const receivedRequest = { key: account.key, idempotencyKey: 'between' }
    await sendTurn(second, receivedRequest, QUESTION)
    const compacted = await compact(second, account)
    await close(second)
    const third = await start('k3', 'k2', 'k1')
    expect((await get(third, account, `/responses/${stored.json.id}`)).status).toBe(200)
    await close(third)

    const last = await start('k3', 'k1')
    expect((await get(last, account, `/responses/${stored.json.id}`)).json).toEqual(stored.json)
    expectProblem(await answerOf(await open(last, receivedRequest, QUESTION)), 'idempotency_not_replayable')
    expectProblem(await goOnFrom(last, account, compacted), 'invalid_encrypted_content')
    expect(await receiptsIn(last)).toHaveLength(3)
    await close(last)

    await expect(start('k3', 'k2')).rejects.toThrow(/The key that this database was begun with is not on the key ring/)
    await close(await start('k1'))
  })

  it('opens data sealed before keyrings existed', async () => {
    const first = await start('k1')
    const account = await openAccount(first)
    const receivedRequest = { key: account.key, idempotencyKey: 'before' }
    const answered = await sendTurn(first, receivedRequest, QUESTION)
    const stored = await respond(first, account, { input: 'Remember me' })
    await close(first)
    const label = setKeyring === WAYS['keyring.json'] ? 'k1' : 'environment'
    await content((file) =>
      file.atomic(
        ['answers', 'account_keys'].map((table) => ({ sql: `UPDATE ${table} SET ring_key = ?`, rows: [[label]] })),
      ),
    )

    const second = await start('k2', 'k1')
    expect((await get(second, account, `/responses/${stored.json.id}`)).json).toEqual(stored.json)
    expect((await sendTurn(second, receivedRequest, QUESTION)).bytes.equals(answered.bytes)).toBe(true)
    await close(second)
  })
})
