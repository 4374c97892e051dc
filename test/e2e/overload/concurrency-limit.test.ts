import { describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { chat, get, hello } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { useServer } from '../../support/use-server.ts'
import { beginRequest, fill, HASTY_HOUSE, KiB, openLoadReader, PATIENT_HOUSE } from './load.ts'

describe('a server with memory for three turns', () => {
  const server = useServer({ config: PATIENT_HOUSE })

  it('queues the fourth until one ends', async () => {
    const { account, streams, end } = await fill(server())
    const load = openLoadReader(server())
    const late = chat(server(), account)
    await until(async () => (await load.load()).waiting === 1)
    streams[0]?.end()
    expect((await late).status).toBe(200)
    end()
    await load.idle()
  })

  it('refuses requests beyond the queue before reading their bodies', async () => {
    const { account, end } = await fill(server())
    const load = openLoadReader(server())
    const waiting = [await beginRequest(server(), account.key, 100), await beginRequest(server(), account.key, 100)]
    await until(async () => (await load.load()).waiting === 2)
    const refused = await beginRequest(server(), account.key, 100)
    expect(await refused.answer()).toMatchObject({ status: 503, json: { error: { code: 'server_is_overloaded' } } })
    expect(await load.shed('queue_full')).toBeGreaterThan(0)
    for (const socket of [...waiting, refused]) socket.destroy()
    end()
    await load.idle()
  })

  it('drops queued requests whose client disconnects', async () => {
    const { account, end } = await fill(server())
    const load = openLoadReader(server())
    const before = await load.shed('memory')
    const socket = await beginRequest(server(), account.key, 100)
    await until(async () => (await load.load()).waiting === 1)
    socket.destroy()
    await until(async () => (await load.load()).waiting === 0)
    expect(await load.shed('memory')).toBe(before)
    end()
    await load.idle()
  })

  it('still refuses wrong keys and empty wallets by name', async () => {
    const { end } = await fill(server())
    const load = openLoadReader(server())
    expect((await chat(server(), { key: 'mr_wallet_no' })).status).toBe(401)
    expect((await chat(server(), await openAccount(server(), { credit: '0' }))).status).toBe(402)
    end()
    await load.idle()
  })

  it('refuses the rest of a body when memory runs out', async () => {
    const load = openLoadReader(server())
    const [first, second] = [
      await beginRequest(server(), (await openAccount(server())).key, 500 * KiB),
      await beginRequest(server(), (await openAccount(server())).key, 500 * KiB),
    ]
    await until(async () => (await load.load()).bytes === 512 * KiB)
    first?.write(`{"model":"${'x'.repeat(400 * KiB)}`)
    await until(async () => ((await load.load()).bytes ?? 0) > 900 * KiB)
    second?.write(`{"model":"${'x'.repeat(400 * KiB)}`)
    expect(await second?.answer()).toMatchObject({ status: 503, json: { error: { code: 'server_is_overloaded' } } })
    expect(await load.shed('body')).toBe(1)
    first?.destroy()
    second?.destroy()
    await load.idle()
    expect(await load.load()).toMatchObject({ bytes: 0 })
  })
})

describe('a server with memory for some bodies', () => {
  const server = useServer({ config: PATIENT_HOUSE.replace('memory_budget: 1MiB', 'memory_budget: 4MiB') })

  it('always has room for another account, whatever one account is sending', async () => {
    const [one, other] = [await openAccount(server()), await openAccount(server())]
    const load = openLoadReader(server())
    const uploads = await Promise.all(Array.from({ length: 9 }, () => beginRequest(server(), one.key, 500 * KiB)))
    for (const upload of uploads) upload.write(`{"model":"${'x'.repeat(400 * KiB)}`)
    await until(async () => (await load.shed('body')) > 0 && uploads.some(({ received }) => received !== ''))
    const refused = uploads.filter(({ received }) => received !== '')
    expect(await refused[0]?.answer()).toMatchObject({ status: 503, json: { error: { code: 'server_is_overloaded' } } })
    const upload = await beginRequest(server(), other.key, 500 * KiB)
    const body = JSON.stringify({ model: 'swift', messages: hello('x'.repeat(400 * KiB)) })
    upload.write(body.padEnd(500 * KiB))
    expect(await upload.answer()).toMatchObject({ status: 200 })
    for (const socket of [...uploads, upload]) socket.destroy()
    await load.idle()
    expect(await load.load()).toMatchObject({ bytes: 0 })
  })
})

describe('a server with memory for three turns and a short queue time', () => {
  const server = useServer({ config: HASTY_HOUSE })

  it('refuses the fourth with Retry-After and charges nothing', async () => {
    const { account, streams, end } = await fill(server())
    const load = openLoadReader(server())
    const before = await load.shed('memory')
    const answer = await chat(server(), account)
    expectProblem(answer, 'server_is_overloaded', { message: /try again in [123]s/ })
    expect(answer.headers.get('retry-after')).toMatch(/^[123]$/)
    expect(await load.shed('memory')).toBe(before + 1)
    expect(await account.receipts()).toHaveLength(3)
    expect((await get(server(), account, '/models')).status).toBe(200)
    expect((await get(server(), account, '/key')).status).toBe(200)
    for (const stream of streams) expect((await stream.next()).done).toBe(false)
    end()
    await load.idle()
    expect((await chat(server(), account)).status).toBe(200)
  })

  it('reserves memory for received bytes only, and releases it when the sender is too slow', async () => {
    const load = openLoadReader(server())
    const begin = async () => beginRequest(server(), (await openAccount(server())).key, 500 * KiB)
    const liars = await Promise.all([begin(), begin(), begin()])
    for (const liar of liars) liar.write('{"model"')
    await until(async () => (await load.load()).bytes === 3 * (256 * KiB + 8))
    // The whole request has a time, so a drip does not go on for ever.
    const drip = setInterval(() => {
      for (const liar of liars) liar.write(' ')
    }, 50)
    for (const liar of liars) expect((await liar.answer()).status).toBe(408)
    clearInterval(drip)
    expect(await load.load()).toMatchObject({ running: 0, bytes: 0 })
  })
})
