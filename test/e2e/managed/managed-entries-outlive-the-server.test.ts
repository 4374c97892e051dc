import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { chat } from '../../support/send-chat.ts'
import { startServer } from '../../support/start-server.ts'
import { openAccount } from '../../support/test-account.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-managed-'))
})
afterEach(() => rm(folder, { recursive: true }))

const model = (id: string, upstream: string) => ({
  ...{ id, context_tokens: 128_000, max_output_tokens: 1000, price: { input: '0', output: '500' } },
  lanes: [{ upstream, model: 'demo-fast' }],
})

const CHANGE = {
  upstreams: [{ id: 'sandbox', wire: 'demo' }],
  models: [model('sandbox-1', 'sandbox'), model('beside', 'demo')],
}

describe('a server that starts again', () => {
  it('serves what was saved but never applied, as after a kill between the two', async () => {
    const first = await startServer({ folder })
    const account = await openAccount(first)
    first.app.managed.reloadBy(async () => null)
    await first.operate('managed.change', CHANGE)
    expect((await chat(first, account, { model: 'sandbox-1' })).status).toBe(404)
    await first.close()
    const again = await startServer({ folder })
    expect((await chat(again, account, { model: 'sandbox-1' })).status).toBe(200)
    await again.close()
  })

  it('leaves out what its file no longer fits, says why, and serves the rest', async () => {
    const first = await startServer({ folder })
    const account = await openAccount(first)
    await first.operate('managed.change', CHANGE)
    await first.close()
    const config = TEST_CONFIG.replaceAll('upstream: demo,', 'upstream: renamed,').replace('id: demo,', 'id: renamed,')
    const again = await startServer({ folder, config })
    expect((await chat(again, account, { model: 'sandbox-1' })).status).toBe(200)
    expect((await chat(again, account, { model: 'beside' })).status).toBe(404)
    const { items, not_applied } = await again.operate('managed.list', {})
    expect(not_applied).toMatch(/there is no upstream "demo"/)
    expect(items.find(({ name }) => name === 'beside')?.problem).toMatch(/there is no upstream "demo"/)
    await again.operate('managed.change', { retire: [{ kind: 'model', name: 'beside' }] })
    expect((await again.operate('managed.list', {})).not_applied).toBeNull()
    await again.close()
  })
})
