import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { chat } from '../support/send-chat.ts'
import { useDatabaseOf } from '../support/server-on-postgres.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { openAccount } from '../support/test-account.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { postgres } from './postgres-ledger.ts'

const config = `${TEST_CONFIG}key_ring: { secret_key: the-secret-that-the-nodes-of-a-test-share }\n`
const KNOWN_WITHIN = { timeout: 10_000 }

const model = (id: string) => ({
  ...{ id, context_tokens: 128_000, max_output_tokens: 1000, price: { input: '0', output: '500' } },
  lanes: [{ upstream: 'sandbox', model: 'demo-fast' }],
})
const UPSTREAM = { id: 'sandbox', wire: 'demo' }

describe.skipIf(!postgres)('managed entries on two nodes', () => {
  let nodes: TestServer[] = []
  beforeEach(async () => {
    const first = await startServer({ config })
    const prepare = (folder: string) => useDatabaseOf(first.folder, folder)
    nodes = [first, await startServer({ config, prepare })]
  })
  afterEach(async () => {
    for (const node of nodes.reverse()) await node.close()
  })

  it('are served by both, and gone from both', async () => {
    const [one, two] = nodes as [TestServer, TestServer]
    const account = await openAccount(one)
    await one.operate('managed.change', { upstreams: [UPSTREAM], models: [model('sandbox-1')] })
    expect((await chat(one, account, { model: 'sandbox-1' })).status).toBe(200)
    await expect.poll(async () => (await chat(two, account, { model: 'sandbox-1' })).status, KNOWN_WITHIN).toBe(200)
    const versions = new Set((await account.receipts()).map(({ price_version }) => price_version))
    expect([...versions]).toEqual([1])
    await two.operate('managed.change', { retire: [{ kind: 'model', name: 'sandbox-1' }] })
    await expect.poll(async () => (await chat(one, account, { model: 'sandbox-1' })).status, KNOWN_WITHIN).toBe(404)
  })

  it('are changed one after the other: of two changes at once that exclude each other one is refused', async () => {
    const [one, two] = nodes as [TestServer, TestServer]
    await one.operate('managed.change', { upstreams: [UPSTREAM] })
    for (let round = 0; round < 5; round++) {
      const outcomes = await Promise.all([
        one.attempt('managed.change', { models: [model(`m-${round}`)] }),
        two.attempt('managed.change', { retire: [{ kind: 'upstream', name: 'sandbox' }] }),
      ])
      const kinds = outcomes.map(({ kind }) => kind)
      expect(kinds.filter((kind) => kind === 'done')).toHaveLength(1)
      const { not_applied } = await one.operate('managed.list', {})
      expect(not_applied).toBeNull()
      if (kinds[1] === 'done') await one.operate('managed.change', { upstreams: [UPSTREAM] })
      else await one.operate('managed.change', { retire: [{ kind: 'model', name: `m-${round}` }] })
    }
  })
})
