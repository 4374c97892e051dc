import { afterEach, describe, expect, it } from 'vitest'
import type { AdminRouteName } from '../../../src/contract/admin-api.ts'
import { sendToAdmin } from '../../support/admin-api.ts'
import { OWNER, type SpawnedServer, spawnServer } from '../../support/spawn-server.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'

const KILL = "process.kill(process.pid, 'SIGKILL'); await new Promise(() => {});"
const WRITE = 'await file.atomic([...alongside, ...inserts]);'
const ORDER = 'const moved = await services.ledger.credit('
const KEEP = 'await writes.claimNow();'

/** Only for requests of an admin key: the command that creates it writes too. */
const dieBefore = (file: string, find: string, when = 'true') => ({
  file,
  find,
  put: `if (${when}) { ${KILL} } ${find}`,
})

const DEATHS = {
  'before the change is written': dieBefore(
    'admin/audit.js',
    WRITE,
    "[entries].flat()[0].actor.startsWith('admin-key:')",
  ),
  'after an order was announced': dieBefore('admin/wallet.js', ORDER),
  'before the answer is kept': dieBefore('server/admin/idempotency.js', KEEP),
}

let server: SpawnedServer | undefined
afterEach(() => server?.close())

const CREDIT = { params: { account: OWNER }, body: { amount: '5.00', reason: 'Invoice', ref: 'once' } }
const KEY = { body: { account: OWNER, kind: 'wallet', name: 'once' } }

/** More than a request takes. */
const BROKEN_OFF_MS = 61_000

async function dieAndRepeat(where: keyof typeof DEATHS, name: AdminRouteName, sent: object) {
  server = await spawnServer({ config: TEST_CONFIG, replacement: DEATHS[where] })
  const here = server
  const made = await here.json('admin-keys', 'create', '--name', 'CI', '--scopes', 'admin')
  const send = () =>
    sendToAdmin(here, name, { ...sent, key: String(made.secret), headers: { 'idempotency-key': 'once' } })
  await expect(send()).rejects.toThrow()
  expect(await here.ended).toMatchObject({ code: 'SIGKILL' })
  const claims = await here.readLedgerRows(async (db) => {
    const rows = await db.selectFrom('admin_calls').selectAll().execute()
    for (const { at } of rows)
      await db
        .updateTable('admin_calls')
        .set({ at: at - BROKEN_OFF_MS })
        .execute()
    return rows.length
  })
  await here.restart()
  const again = await send()
  const replayed = await send()
  const wallet = await here.json('wallet', 'show', OWNER)
  const keys = (await here.json('keys', 'list', '--account', OWNER)) as { items: { name: string }[] }
  expect(await here.json('db', 'verify')).toMatchObject({ ok: true })
  return {
    ...{ claims, again, replayed, balance: wallet.balance },
    keys: keys.items.filter((key) => key.name === 'once').length,
  }
}

/** Several processes are started one after another. */
const TIMEOUT_MS = 90_000

describe('a server that is killed', { timeout: TIMEOUT_MS }, () => {
  it.each([
    { where: 'before the change is written', repeated: false, claims: 0 },
    { where: 'after an order was announced', repeated: false, claims: 1 },
    { where: 'before the answer is kept', repeated: true, claims: 1 },
  ] as const)('$where credits once when the request is repeated', async ({ where, repeated, claims }) => {
    const found = await dieAndRepeat(where, 'POST /accounts/:account/wallet/credit', CREDIT)
    expect(found).toMatchObject({ claims, balance: '1005.00', again: { status: 200, json: { repeated } } })
    expect(found.replayed.text).toBe(found.again.text)
  })

  it('before the change is written makes one key when the request is repeated', async () => {
    const found = await dieAndRepeat('before the change is written', 'POST /keys', KEY)
    expect(found).toMatchObject({ claims: 0, keys: 1, again: { status: 200 } })
    expect(found.replayed.text).toBe(found.again.text)
  })

  it('before the answer is kept makes no second key', async () => {
    const found = await dieAndRepeat('before the answer is kept', 'POST /keys', KEY)
    expect(found).toMatchObject({ claims: 1, keys: 1, again: { error: { code: 'idempotency_not_replayable' } } })
  })
})
