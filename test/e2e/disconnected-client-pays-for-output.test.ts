import { describe, expect, it } from 'vitest'
import type { ReceiptsTable } from '../../src/db/tables.ts'
import { randomFrom } from '../fixtures/lib/seeded-random.ts'
import { openRawSocket } from '../support/raw-socket.ts'
import { requestsEnded } from '../support/read-metrics.ts'
import { framesOf } from '../support/read-stream.ts'
import { hello, send } from '../support/send-chat.ts'
import { openAccount, type TestAccount } from '../support/test-account.ts'
import { until } from '../support/until.ts'
import { useServer } from '../support/use-server.ts'

/** Nano-dollars a token, of the models that are used here. */
const INPUT = 100n
const OUTPUT = 400n
/** Frames up to this long are taken for a token each. */
const TOKEN_BYTES_MAX = 6.5

/** The only receipt of the account, once it is closed; the wallet agrees with it and holds nothing. */
async function receiptOf(account: TestAccount, credit: bigint): Promise<ReceiptsTable> {
  const receipt = await until(async () => (await account.receipts()).find((row) => row.state !== 'open'))
  expect(await account.receipts()).toHaveLength(1)
  const { balance, held } = await account.wallet()
  expect(credit - balance).toBe(receipt.charge_nano)
  expect(held).toBe(0n)
  expect(receipt.charge_nano).toBeLessThanOrEqual(receipt.hold_nano)
  return receipt
}

const priceOf = ({ uncached_input, output }: ReceiptsTable): bigint =>
  BigInt(uncached_input ?? 0) * INPUT + BigInt(output ?? 0) * OUTPUT

describe('a client that disconnects pays for what it received', () => {
  const server = useServer()

  it.each([1, 2, 5, 20])('after %i frames: the input and the output so far', async (frames) => {
    const account = await openAccount(server(), { credit: '1.00' })
    const credit = (await account.wallet()).balance
    const body = { model: 'calm', stream: true, messages: hello('count to 5000') }
    const response = await send(server(), account, body)
    let got = ''
    let seen = 0
    for await (const frame of framesOf(response)) {
      got += JSON.parse(frame.slice('data: '.length)).choices[0].delta.content ?? ''
      seen += 1
      // Leaving the loop closes the connection.
      if (seen >= frames) break
    }

    const receipt = await receiptOf(account, credit)
    expect(receipt).toMatchObject({ state: 'settled', outcome: 'client_gone', estimated: 1, shortfall_nano: 0n })
    expect(receipt.request_id).toBe(response.headers.get('x-request-id'))
    expect(receipt.charge_nano).toBe(priceOf(receipt))
    expect(receipt.uncached_input).toBe(receipt.input_estimate)
    expect(receipt.output).toBeGreaterThanOrEqual(Math.floor(Buffer.byteLength(got) / TOKEN_BYTES_MAX))
    // Far from the whole of the answer: the provider was told to stop.
    expect(receipt.output).toBeLessThan(2500)
  })

  it('after the finish reason: the whole answer, by the provider’s usage', async () => {
    const account = await openAccount(server(), { credit: '1.00' })
    const credit = (await account.wallet()).balance
    const body = { model: 'calm', stream: true, messages: hello('count to 7') }
    const response = await send(server(), account, body)
    for await (const frame of framesOf(response)) {
      if (JSON.parse(frame.slice('data: '.length)).choices[0].finish_reason !== null) break
    }

    const receipt = await receiptOf(account, credit)
    expect(receipt).toMatchObject({ state: 'settled', output: 7, estimated: 0 })
    expect(receipt.charge_nano).toBe(priceOf(receipt))
  })

  it('before the first byte of a stream: at most the input', async () => {
    const account = await openAccount(server(), { credit: '1.00' })
    const credit = (await account.wallet()).balance
    const controller = new AbortController()
    const body = { model: 'calm-high', stream: true, messages: hello('count to 5000') }
    const response = send(server(), account, body, { signal: controller.signal })
    await until(async () => (await account.receipts()).length === 1)
    controller.abort()
    await expect(response).rejects.toThrow()

    const receipt = await receiptOf(account, credit)
    expect(receipt).toMatchObject({ outcome: 'client_gone' })
    expect(receipt.output ?? 0).toBe(0)
    expect(receipt.charge_nano).toBeLessThanOrEqual(BigInt(receipt.input_estimate) * INPUT)
  })

  it('before the provider starts a JSON answer: nothing', async () => {
    const account = await openAccount(server(), { credit: '1.00' })
    const credit = (await account.wallet()).balance
    const controller = new AbortController()
    const body = { model: 'calm', messages: hello('count to 5000') }
    const response = send(server(), account, body, { signal: controller.signal })
    await until(async () => (await account.receipts()).length === 1)
    controller.abort()
    await expect(response).rejects.toThrow()
    expect(await receiptOf(account, credit)).toMatchObject({
      state: 'released',
      outcome: 'client_gone',
      charge_nano: 0n,
    })
  })

  it('while sending its own request: nothing, and no receipt', async () => {
    const account = await openAccount(server(), { credit: '1.00' })
    const before = await requestsEnded(server())
    const socket = await openRawSocket(server())
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\n` +
        'content-type: application/json\r\ncontent-length: 1000\r\n\r\n{"model":"calm","stream":true,"messages":[',
    )
    socket.destroy()
    await until(async () => (await requestsEnded(server())) > before)
    expect(await account.receipts()).toEqual([])
  })

  it('many at random moments: one closed receipt each, and the wallet matches their sum', async () => {
    const account = await openAccount(server(), { credit: '5.00' })
    const credit = (await account.wallet()).balance
    const seed = 20_261_120
    const next = randomFrom(seed)
    const cut = { frames: 0, whole: 0 }
    const CLIENTS = 40
    await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        const body = { model: 'calm', stream: true, messages: hello(`count to ${1 + next(12)}`) }
        let left = next(16)
        // Leaving the loop closes the connection.
        for await (const _frame of framesOf(await send(server(), account, body))) {
          left -= 1
          if (left > 0) continue
          cut.frames += 1
          return
        }
        cut.whole += 1
      }),
    )
    const receipts = await until(async () => {
      const rows = await account.receipts()
      return rows.length === CLIENTS && rows.every((row) => row.state !== 'open') && rows
    })
    const charges = receipts.reduce((sum, row) => sum + (row.charge_nano ?? 0n), 0n)
    console.log(`seed ${seed}: ${cut.frames} cut, ${cut.whole} whole`)
    expect(credit - (await account.wallet()).balance).toBe(charges)
    for (const receipt of receipts) expect(receipt.charge_nano).toBe(priceOf(receipt))
  })
})
