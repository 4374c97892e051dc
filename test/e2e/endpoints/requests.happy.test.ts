import { describe, expect, it } from 'vitest'
import { chat, get, hello, send } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { useServer } from '../../support/use-server.ts'

describe('GET /v1/requests/{id} answers', () => {
  const server = useServer()

  it('with the cost and its breakdown as soon as the answer has ended', async () => {
    const account = await openAccount(server())
    const { requestId, json } = await chat(server(), account, { max_tokens: 20, messages: hello('count to 5') })
    const receipt = (await get(server(), account, `/requests/${requestId}`)).json
    expect(receipt).toMatchObject({
      object: 'request',
      id: requestId,
      state: 'settled',
      outcome: 'completed',
      model: 'swift',
      kind: 'wallet',
      currency: 'USD',
      tier: 0,
      output_cap: 20,
      charge: json.usage.millrace.charge,
      cost: json.usage.millrace.charge,
      tokens: { uncached_input: json.usage.prompt_tokens, output: 5, estimated: false },
      price: { input: '0.10', cached_input: '0.025', cache_write: '0.10', output: '0.40', per_request: '0.00' },
    })
    for (const time of [receipt.opened_at, receipt.closed_at]) expect(new Date(time).toISOString()).toBe(time)
    expect(receipt.closed_at >= receipt.opened_at).toBe(true)
    expect(receipt).not.toHaveProperty('lane')
    // Which lane it was is the operator's affair.
    expect(receipt.attempts).toEqual([{ outcome: 'finished', status: 200, ms: expect.any(Number) }])
    expect(receipt.paid_by).toEqual({ kind: 'wallet', plan: null, windows: [], caps: [] })
  })

  it('with an open receipt while the request runs', async () => {
    const account = await openAccount(server())
    const response = await send(server(), account, { model: 'calm', stream: true, messages: hello('count to 10') })
    const id = response.headers.get('x-request-id')
    const { json } = await get(server(), account, `/requests/${id}`)
    expect(json).toMatchObject({ id, state: 'open', outcome: null, charge: null, closed_at: null, tokens: null })
    await response.text()
    expect((await get(server(), account, `/requests/${id}`)).json.state).toBe('settled')
  })

  it('with the charge after a disconnect, and zero when the provider had not started', async () => {
    const account = await openAccount(server())
    const response = await send(server(), account, { model: 'calm', stream: true, messages: hello('count to 500') })
    const id = response.headers.get('x-request-id')
    await response.body?.cancel()
    const broken = await until(async () => {
      const { json } = await get(server(), account, `/requests/${id}`)
      return json.state !== 'open' && json
    })
    expect(broken).toMatchObject({ state: 'settled', outcome: 'client_gone', tokens: { estimated: true } })

    const controller = new AbortController()
    const receivedRequest = chat(
      server(),
      account,
      { model: 'calm', messages: hello('count to 5000') },
      { signal: controller.signal },
    )
    const open = await until(async () => (await account.receipts()).find((row) => row.state === 'open'))
    controller.abort()
    await expect(receivedRequest).rejects.toThrow()
    const released = await until(async () => {
      const { json } = await get(server(), account, `/requests/${open.request_id}`)
      return json.state !== 'open' && json
    })
    expect(released).toMatchObject({ state: 'released', outcome: 'client_gone', charge: '0.00' })
  })

  it('to any key of the account, with an empty wallet too', async () => {
    const account = await openAccount(server())
    const { requestId } = await chat(server(), account)
    for (const kind of ['wallet', 'builder'] as const) {
      const other = await account.createKey({ kind })
      expect((await get(server(), other, `/requests/${requestId}`)).json.id).toBe(requestId)
    }
  })
})
