import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { totpCode, totpStepAt } from '../../src/auth/totp.ts'
import { SEALED_COLUMNS } from '../../src/db/sealed-columns.ts'
import { openBrowser, PASSWORD, signUp } from '../support/console-session.ts'
import { readTotpSecret } from '../support/read-totp-secret.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { openAccount } from '../support/test-account.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { isSignedBy, startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'

const CONFIG = `${TEST_CONFIG}
notices: { allow_private_webhooks: true }
`
const EMAIL = 'ann@example.com'

let folder: string
let receiver: WebhookReceiver
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-reseals-'))
  receiver = await startWebhookReceiver()
})
afterEach(async () => {
  await receiver.close()
  await rm(folder, { recursive: true })
})

/** The first key is the primary one. */
async function start(...ids: readonly [string, ...string[]]): Promise<TestServer> {
  const keys = ids.map((id) => ({ id, secret: id.padEnd(43, 'x') }))
  await writeFile(join(folder, 'keyring.json'), JSON.stringify({ version: 1, primary: ids[0], keys }))
  return startServer({ folder, config: CONFIG })
}

/** Which keys have sealed what the database keeps. */
async function ringKeysOf({ app }: TestServer): Promise<Set<unknown>> {
  const { ledger } = app.operations.files
  const found = new Set<unknown>()
  for (const { table, key, ringKey } of SEALED_COLUMNS) {
    const rows = await ledger.all(`SELECT ${ringKey} AS ring_key FROM ${table} WHERE ${key} > 0`, [])
    for (const { ring_key } of rows) if (ring_key !== null) found.add(ring_key)
  }
  return found
}

it('seals with the primary key what former keys have sealed, so that those may leave the ring', async () => {
  await (await start('first')).close()

  const second = await start('second', 'first')
  const account = await openAccount(second)
  const person = await signUp(second, { email: EMAIL, account: account.id })
  const secret = readTotpSecret((await person.call('POST /factors/totp')).secret)
  const codeAt = ({ app }: TestServer) => totpCode(secret, totpStepAt(app.operations.clock.now()))
  await person.call('POST /factors/totp/confirm', { body: { code: codeAt(second) } })
  const made = await person.call('POST /webhooks', { body: { url: receiver.url, events: ['balance.low'] } })
  const rotated = await person.call('POST /webhooks/:webhook/rotate', { params: { webhook: made.webhook.id } })
  const [before] = await ringKeysOf(second)
  await second.close()

  const third = await start('third', 'second', 'first')
  const after = await ringKeysOf(third)
  expect([after.size, after.has(before)]).toEqual([1, false])
  await third.close()

  const last = await start('third', 'first')
  last.advance(60_000)
  const again = openBrowser(last, EMAIL)
  const body = { email: EMAIL, password: PASSWORD, code: codeAt(last) }
  expect((await again.call('POST /session', { body })).person?.email).toBe(EMAIL)
  await again.call('POST /webhooks/:webhook/test', { params: { webhook: made.webhook.id } })
  await expect.poll(() => receiver.received.length, { timeout: 10_000 }).toBe(1)
  for (const valid of [made.secret, rotated.secret]) expect(isSignedBy(valid, receiver.received[0]!)).toBe(true)
  await last.close()

  // The newest key is gone: what it sealed cannot be opened, and nothing else fails.
  const lost = await start('first')
  lost.advance(120_000)
  const without = await openBrowser(lost, EMAIL).send('POST /session', { body: { ...body, code: codeAt(lost) } })
  expect(without.error?.code).toBe('internal_error')
  await lost.close()
})
