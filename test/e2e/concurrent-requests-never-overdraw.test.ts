import { describe, expect, it } from 'vitest'
import { expectProblem } from '../support/expect-problem.ts'
import { chat, hello } from '../support/send-chat.ts'
import { nanoOf, openAccount } from '../support/test-account.ts'
import { useServer } from '../support/use-server.ts'

describe('a hundred concurrent requests on a wallet for ten', () => {
  const server = useServer()

  it('exactly ten are served, the wallet ends at zero, and the rest get 402', async () => {
    // Twenty tokens at a thousandth of a dollar each: the hold of a request is its charge.
    const account = await openAccount(server(), { credit: '0.20' })
    const answers = await Promise.all(
      Array.from({ length: 100 }, () =>
        chat(server(), account, { model: 'paid', max_tokens: 20, messages: hello('count to 500') }),
      ),
    )
    const served = answers.filter((answer) => answer.status === 200)
    expect(served).toHaveLength(10)
    for (const { json } of served) expect(nanoOf(json.usage.millrace.charge)).toBe(20_000_000n)
    const refused = answers.filter((answer) => answer.status !== 200)
    for (const answer of refused) {
      expectProblem(answer, answer.status === 429 ? 'balance_in_flight' : 'insufficient_balance')
    }
    expect(await account.wallet()).toEqual({ balance: 0n, held: 0n, available: 0n })
    expect(await account.receipts()).toHaveLength(10)
  })

  it('the part of a hold beyond the charge is released and serves an eleventh request', async () => {
    const account = await openAccount(server(), { credit: '0.20' })
    const sendTurn = (max_tokens: number) =>
      chat(server(), account, { model: 'paid', max_tokens, messages: hello('count to 10') })
    for (let turn = 0; turn < 10; turn++) expect((await sendTurn(100)).status).toBe(200)
    expect((await account.wallet()).balance).toBe(100_000_000n)
    expect((await sendTurn(100)).status).toBe(200)
    const tooMuch = await sendTurn(500)
    expectProblem(tooMuch, 'insufficient_balance', { message: /max_tokens to 90 or less/ })
    expect((await sendTurn(90)).status).toBe(200)
  })

  it('all wallet keys of an account share one wallet', async () => {
    const account = await openAccount(server(), { credit: '0.20' })
    const keys = await Promise.all(Array.from({ length: 5 }, () => account.createKey()))
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        chat(server(), keys[index % 5]!, { model: 'paid', max_tokens: 20, messages: hello('count to 500') }),
      ),
    )
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(10)
    expect((await account.wallet()).balance).toBe(0n)
  })
})
