import { describe, expect, it } from 'vitest'
import { chat, get, hello } from '../support/send-chat.ts'
import { nanoOf, openAccount } from '../support/test-account.ts'
import { useServer } from '../support/use-server.ts'

describe('a JSON answer carries its charge', () => {
  const server = useServer()

  it('has the id, the requested model name, and a usage that matches the wallet', async () => {
    const account = await openAccount(server())
    const before = await account.wallet()
    const { status, headers, requestId, json } = await chat(server(), account, { messages: hello('Good day') })
    const after = await account.wallet()

    expect(status).toBe(200)
    expect(headers.get('content-type')).toMatch(/^application\/json/)
    expect(json).toMatchObject({
      object: 'chat.completion',
      model: 'swift',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant' } }],
    })
    expect(json.choices[0].message.content).toContain('"Good day"')
    expect(json.usage.millrace).toMatchObject({ currency: 'USD', tier: 0, price_version: 1 })
    expect(nanoOf(json.usage.millrace.charge)).toBe(before.balance - after.balance)
    expect(after.held).toBe(0n)

    const receipt = await get(server(), account, `/requests/${requestId}`)
    expect(receipt.json).toMatchObject({ object: 'request', state: 'settled', charge: json.usage.millrace.charge })
  })

  it('rounds fractions of a nano-dollar up once and adds the fixed fee', async () => {
    const account = await openAccount(server())
    const { json } = await chat(server(), account, { model: 'vendor/slashed' })
    const { prompt_tokens, completion_tokens, millrace } = json.usage
    expect(nanoOf(millrace.charge)).toBe(BigInt(prompt_tokens) * 1000n + BigInt(completion_tokens) * 2000n + 7n)
  })

  it('costs the same as the same answer in a stream', async () => {
    const account = await openAccount(server())
    const start = (await account.wallet()).balance
    const json = await chat(server(), account, { messages: hello('count to 30') })
    const middle = (await account.wallet()).balance
    const response = await fetch(`${server().baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `bearer ${account.key}`, 'content-type': 'application/json; charset=utf-8' },
      body: JSON.stringify({ model: 'swift', stream: true, messages: hello('count to 30') }),
    })
    await response.text()
    expect(middle - (await account.wallet()).balance).toBe(start - middle)
    expect(json.json.usage.completion_tokens).toBe(30)
  })

  it('never charges more than was held, and shows both', async () => {
    const account = await openAccount(server())
    const { requestId } = await chat(server(), account, { max_tokens: 3, messages: hello('count to 30') })
    const { json } = await get(server(), account, `/requests/${requestId}`)
    expect(nanoOf(json.charge)).toBeLessThanOrEqual(nanoOf(json.hold))
    expect(json).toMatchObject({ output_cap: 3, tokens: { output: 3 }, shortfall: '0.00' })
  })
})
