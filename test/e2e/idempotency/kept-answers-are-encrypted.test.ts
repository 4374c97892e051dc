import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { fillDiskFor } from '../../support/full-disk.ts'
import { hello } from '../../support/send-chat.ts'
import { onPostgres } from '../../support/server-on-postgres.ts'
import { openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { useServer } from '../../support/use-server.ts'
import { sendTurn } from './keyed.ts'

const CANARY = 'canary-of-the-answer'
const body = { model: 'swift', stream: true, messages: hello(`${CANARY} please`) }

describe('what is kept', () => {
  const server = useServer()

  it.skipIf(onPostgres)(
    'is in no file of the data folder in plain text, and neither is the idempotency key',
    async () => {
      const account = await openAccount(server())
      const receivedRequest = { key: account.key, idempotencyKey: 'canary-of-the-key' }
      const first = await sendTurn(server(), receivedRequest, body)
      expect(first.text).toContain('canary')
      expect((await sendTurn(server(), receivedRequest, body)).bytes.equals(first.bytes)).toBe(true)
      const files = readdirSync(server().folder).filter((name) => name !== 'millrace.yaml')
      expect(files).toEqual(expect.arrayContaining(['ledger.db', 'content.db', 'content.db-wal']))
      for (const name of files) {
        if (name.endsWith('.sock')) continue
        expect(readFileSync(join(server().folder, name)).includes('canary'), name).toBe(false)
      }
    },
  )
})

describe.skipIf(onPostgres)('a full disk', () => {
  const server = useServer()
  beforeAll(async () => {
    const trigger = "CREATE TRIGGER full BEFORE INSERT ON answers BEGIN SELECT RAISE(ABORT, 'no space left'); END"
    await server().content.atomic([{ sql: trigger, rows: [[]] }])
  })

  it.each([true, false])(
    'loses neither an answer nor its charge; the answer cannot be replayed, stream: %s',
    async (stream) => {
      const account = await openAccount(server())
      const before = (await account.wallet()).balance
      const receivedRequest = { key: account.key, idempotencyKey: 'full' }
      const first = await sendTurn(server(), receivedRequest, { ...body, stream })
      expect(first.status).toBe(200)
      expect(first.text).toMatch(stream ? /\[DONE\]\n\n$/ : /"charge"/)
      const [receipt] = await account.receipts()
      expect(receipt).toMatchObject({ state: 'settled', outcome: 'completed' })
      expect(before - (await account.wallet()).balance).toBe(receipt?.charge_nano)
      const again = await sendTurn(server(), receivedRequest, { ...body, stream })
      expect([again.status, JSON.parse(again.text).error.code]).toEqual([409, 'idempotency_not_replayable'])
      expect(await account.receipts()).toHaveLength(1)
    },
  )
})

describe('a charge that cannot be written to the ledger', () => {
  const server = useServer()

  it.each([true, false])('goes to the journal; its answer is sent and replayed; streamed: %s', async (stream) => {
    const account = await openAccount(server())
    const before = (await account.wallet()).balance
    const { db } = server().app.operations
    const receivedRequest = { key: account.key, idempotencyKey: 'unrecorded' }
    const makeRoom = await fillDiskFor(db, 'UPDATE ON receipts')
    const first = await sendTurn(server(), receivedRequest, { ...body, stream })
    expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([200, null])
    await makeRoom()
    await until(() => server().app.ledgerAvailable())
    const again = await until(async () => {
      const answer = await sendTurn(server(), receivedRequest, { ...body, stream })
      return answer.status === 200 && answer
    })
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(again.bytes.equals(first.bytes)).toBe(true)
    const [receipt, ...others] = await account.receipts()
    expect([receipt?.state, receipt?.outcome, others]).toEqual(['settled', 'completed', []])
    expect(receipt?.charge_nano).toBeGreaterThan(0n)
    expect(before - (await account.wallet()).balance).toBe(receipt?.charge_nano)
  })
})
