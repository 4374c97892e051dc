import { expect } from 'vitest'
import { findPersonByEmail, identityInsert } from '../../../src/db/people.ts'
import { statement } from '../../../src/db/sql-store.ts'
import { type KeyedAnswer, sendTurn } from '../../e2e/idempotency/keyed.ts'
import { sendToAdmin } from '../../support/admin-api.ts'
import { openBrowser, PASSWORD, signUp } from '../../support/console-session.ts'
import { sendToScim } from '../../support/scim.ts'
import { chat, hello, send } from '../../support/send-chat.ts'
import { respond, streamResponse } from '../../support/send-responses.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { storePayment } from '../../support/stored-rows.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { until } from '../../support/until.ts'

export const CONFIG = PLANS_CONFIG

/** What a client and an operator know of a server after a while of use. */
export interface Life {
  readonly wallet: TestAccount
  readonly capped: string
  readonly planned: TestAccount
  readonly builder: string
  readonly email: string
  readonly requests: readonly string[]
  readonly replayed: readonly { readonly key: string; readonly body: object; readonly answer: KeyedAnswer }[]
  readonly response: { readonly id: string; readonly stream: string }
  /** Of a code that is not redeemed. */
  readonly code: string
}

const chatBody = (words: string) => ({ model: 'swift', messages: hello(words) })

/** Every table that a server fills by itself gets rows. */
export async function live(server: TestServer): Promise<Life> {
  const wallet = await openAccount(server)
  const capped = await wallet.createKey({ name: 'capped' })
  await server.operate('keys.caps', { key: capped.id, day: '2.00', month: '5.00' })
  const planned = await openAccount(server)
  await server.operate('teams.create', { account: planned.id, name: 'Red', caps: { month: '50.00' } })
  await server.operate('keys.raise', { key: capped.id, cap: 'day', to: '3.00', until: '12h' })
  await server.operate('plans.assign', { account: planned.id, plan: 'wide' })
  const run = { each_conversation: { max: '5.00' } }
  const builder = await planned.createKey({ kind: 'builder', run })
  await server.operate('keys.rotate', { key: (await wallet.createKey()).id, grace: '1h' })
  await server.operate('accounts.suspend', { account: (await openAccount(server)).id })
  const poor = await openAccount(server, { credit: '0' })

  const requests: string[] = []
  for (const key of [wallet.key, capped.key, builder.key, poor.key]) {
    for (let turn = 0; turn < 4; turn++) {
      const answer = await sendTurn(server, { key }, { ...chatBody(`count to ${turn + 3}`), stream: turn % 2 === 0 })
      if (key === poor.key) expect(answer.status).toBe(402)
      else requests.push(answer.requestId)
    }
  }
  const replayed = []
  for (const [key, body] of Object.entries({
    json: chatBody('count to 50'),
    stream: { ...chatBody('x'), stream: true },
  })) {
    const answer = await sendTurn(server, { key: wallet.key, idempotencyKey: key }, body)
    replayed.push({ key, body, answer })
  }
  const first = await respond(server, wallet, { input: 'remember the \\ and the\ttab é\u{1F600}', store: true })
  const second = await streamResponse(server, wallet, { previous_response_id: first.json.id, store: true })
  await chat(server, wallet, chatBody('x'), {
    headers: { 'x-millrace-tags': 'repo=a, branch=b', 'x-millrace-run': 'moved; max=1.00' },
  })
  await breakOff(server, wallet)
  const { items } = await server.operate('codes.create', { amount: '2.00', count: 2, note: 'in May' })
  await server.operate('codes.redeem', { account: wallet.id, code: items[0]!.secret })
  const { email } = await person(server, wallet)
  await storePayment(server, wallet.id)
  await server.operate('webhooks.add', { account: wallet.id, url: 'https://hooks.invalid/', events: ['balance.low'] })
  await server.operate('notices.settings', { account: wallet.id, low_balance: '999.00' })
  await until(async () => (await server.operate('notices.list', { account: wallet.id })).items.length > 0)
  await until(() => server.serving.turnsRunning === 0)
  await storeRest(server)
  return {
    ...{ wallet, capped: capped.key, planned, builder: builder.key, email, requests, replayed },
    response: { id: second.id, stream: second.text },
    code: items[1]!.secret,
  }
}

/** A turn that its client leaves. */
/** Rows of tables that only a browser, an authenticator app or an operator's own provider fills. */
async function storeRest({ app }: TestServer): Promise<void> {
  const { clock, files } = app.operations
  const [now, bytes] = [clock.now(), Buffer.from([1, 2, 3])]
  const person = '(SELECT MAX(row) FROM people)'
  const someKey = '(SELECT MIN(row) FROM keys)'
  await files.ledger.atomic([
    statement(
      `INSERT INTO totp_secrets (person, ring_key, sealed, created_at, confirmed_at, last_step, tries_until)
        VALUES (${person}, 'k1', ?, ?, NULL, 0, 0)`,
      ...[bytes, now],
    ),
    // Not of the person who looks at the pages.
    statement(
      'UPDATE accounts SET second_factor = 1 WHERE row NOT IN (SELECT account FROM people WHERE account IS NOT NULL)',
    ),
    statement('UPDATE sessions SET strong = 1'),
    statement(
      `INSERT INTO runs (account, id, max_nano, ends_at, opened_at, key, tags)
        SELECT account, 'job:main:1.1', 5, ?, ?, row, '["branch:main"]' FROM keys WHERE row = ${someKey}`,
      ...[now + DAY_MS, now],
    ),
    statement(`UPDATE runs SET person = ${person}`),
    statement(`INSERT INTO recovery_codes (person, digest, used_at) VALUES (${person}, 'digest', NULL)`),
    statement(
      `INSERT INTO passkeys (id, person, name, credential, public_key, counter, transports, created_at, last_used_at)
        VALUES ('pk_1', ${person}, 'laptop', ?, ?, 7, '[]', ?, NULL)`,
      ...[bytes, bytes, now],
    ),
    statement(`INSERT INTO used_challenges (digest, expires_at) VALUES ('used', ?)`, now + DAY_MS),
    statement(
      `INSERT INTO managed_entries (row, kind, name, entry, ring_key, sealed, effective_from, created_at, created_by)
        VALUES (1, 'model', 'retired', NULL, NULL, NULL, ?, ?, 'operator')`,
      ...[now, now],
    ),
    statement(`INSERT INTO notice_reads (person, notice) VALUES (${person}, (SELECT MIN(row) FROM notices))`),
  ])
}

async function breakOff(server: TestServer, wallet: TestAccount): Promise<void> {
  const leaving = new AbortController()
  const stream = await send(server, wallet, { ...chatBody('count to 500'), model: 'calm', stream: true }, leaving)
  await stream.body!.getReader().read()
  leaving.abort()
  await until(() => server.serving.turnsRunning === 0)
}

async function person(server: TestServer, wallet: TestAccount) {
  const owner = await signUp(server, { email: wallet.email, account: wallet.id })
  await owner.call('PATCH /notices/preferences', { body: { language: 'de' } })
  await owner.call('POST /wallet/ask', { body: { amount: '7.00', note: 'more' } })
  await owner.call('POST /conversations', { body: { title: 'Mills', content: '{"said":"mills"}' } })
  for (let tries = 0; tries < 12; tries++)
    await openBrowser(server, 'other@example.com').send('POST /session', {
      body: { email: 'other@example.com', password: `wrong ${tries}` },
    })
  const { secret: key } = await server.operate('admin-keys.create', { name: 'CI', scopes: ['accounts:write'] })
  await sendToAdmin(server, 'POST /accounts', {
    key,
    body: { email: 'by-key@example.com' },
    headers: { 'idempotency-key': 'once' },
  })
  await server.operate('people.invite', { email: 'operator@example.com', role: 'operator' })
  const directory = await server.operate('admin-keys.create', { name: 'SCIM', scopes: ['scim'], account: wallet.id })
  const asDirectory = (body: object) => ({ key: directory.secret, body })
  const { json } = await sendToScim(
    server,
    'POST /Users',
    asDirectory({ userName: 'ann@moved.example', displayName: 'Ann' }),
  )
  await sendToScim(server, 'POST /Groups', asDirectory({ displayName: 'Blue', members: [{ value: json.id }] }))
  const { db, people } = server.app.operations
  const found = await findPersonByEmail(db, 'ann@moved.example')
  await people.file.atomic([identityInsert(found!.id, { issuer: 'https://issuer.example', subject: 'ann' }, 1)])
  return owner
}

const DAY_MS = 86_400_000
const dayOf = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10)

/** What has to be the same wherever the ledger is. */
export async function seen(server: TestServer, { wallet, planned, email, requests }: Life) {
  const browser = openBrowser(server, email)
  await browser.call('POST /session', { body: { email, password: PASSWORD } })
  const range = { from: dayOf(-1), to: dayOf(1), zone: 'UTC', step: 'day' } as const
  const { as_of: _, ...usage } = await browser.call('GET /usage', { query: { ...range, by: 'key' } })
  const { as_of: __, ...byModel } = await browser.call('GET /usage', { query: { ...range, by: 'model' } })
  const refused = await browser.call('GET /usage/refused', { query: range })
  const { items: keys } = await browser.call('GET /keys', { query: { limit: 50 } })
  const { items: saved } = await browser.call('GET /conversations')
  const conversation = { params: { conversation: saved[0]!.id } }
  const conversations = [saved, await browser.call('GET /conversations/:conversation', conversation)]
  const { operate } = server
  return {
    ...{ usage, byModel, refused, keys, conversations },
    wallets: [
      await operate('wallet.show', { account: wallet.id }),
      await operate('wallet.show', { account: planned.id }),
    ],
    entries: await operate('wallet.entries', { account: wallet.id, limit: 50 }),
    plan: await operate('plans.show', { account: planned.id }),
    codes: await operate('codes.list', { limit: 50 }),
    wishes: await operate('wallet.wishes', { limit: 50 }),
    receipts: await Promise.all(requests.map((request) => operate('requests.trace', { request }))),
    accounts: await operate('accounts.list', { limit: 50 }),
  }
}

export const startOnFiles = (folder: string): Promise<TestServer> =>
  startServer({ folder, config: CONFIG, storage: 'sqlite' })
