import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { chunk, USAGE, usageChunk, WORDS } from '../../fakes/chat-frames.ts'
import type { Script } from '../../fakes/fault-upstream.ts'
import { FAULTS } from '../../fakes/faults.ts'
import { expectProblem } from '../../support/expect-problem.ts'
import { answerOf, hello, send } from '../../support/send-chat.ts'
import { onPostgres } from '../../support/server-on-postgres.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { priced, useScriptedUpstreams } from './scripted-server.ts'

const REPORTED = priced({ input: 7, cached: 4, output: 7 })

let goOn = () => {}
const scripts: Record<string, Script> = {
  good: (providerAnswer) => FAULTS.healthy(providerAnswer),
  full: (providerAnswer) => FAULTS['refused-503'](providerAnswer, 'before'),
  async slow(providerAnswer) {
    await providerAnswer.head()
    await new Promise<void>((resolve) => {
      goOn = resolve
    })
    const words = WORDS.map((content) => chunk(providerAnswer.model, { delta: { content } }))
    await providerAnswer.frames(
      ...words,
      chunk(providerAnswer.model, { finish: 'stop' }),
      usageChunk(providerAnswer.model, USAGE),
      '[DONE]',
    )
    await providerAnswer.end()
  },
}

const setup = useScriptedUpstreams(scripts)

const sendTurn = (who: { readonly key: string }, idempotencyKey: string, body: object | string) =>
  send(setup().server, who, body, { headers: { 'idempotency-key': idempotencyKey } })

const bodyOf = (model: string, stream: boolean) => ({ model, stream, messages: hello() })

async function expectCharged(account: TestAccount, times: number): Promise<void> {
  const receipts = await until(async () => {
    const rows = await account.receipts()
    return rows.every(({ state }) => state !== 'open') && rows
  })
  expect(receipts.filter(({ state }) => state === 'settled')).toHaveLength(times)
  expect((await account.wallet()).balance).toBe(10_000_000_000n - BigInt(times) * REPORTED)
}

describe('retries are not charged twice', () => {
  it.each([true, false])(
    'A31: retries with one Idempotency-Key get the same bytes, charged once (stream: %s)',
    async (stream) => {
      const account = await openAccount(setup().server)
      const first = await sendTurn(account, 'once', bodyOf('good', stream))
      const bytes = await first.text()
      for (let retry = 0; retry < 5; retry++) {
        const again = await sendTurn(account, 'once', bodyOf('good', stream))
        expect([again.status, await again.text()]).toEqual([200, bytes])
        expect(again.headers.get('idempotency-replayed')).toBe('true')
        expect(again.headers.get('x-original-request-id')).toBe(first.headers.get('x-request-id'))
      }
      expect(setup().far.providerAnswers).toHaveLength(1)
      await expectCharged(account, 1)
    },
  )

  it('A31: of thirty concurrent requests one runs; the others get 409, then its answer', async () => {
    const account = await openAccount(setup().server)
    const receivedRequest = Array.from({ length: 30 }, () => sendTurn(account, 'at-once', bodyOf('slow', true)))
    const early = Promise.all(receivedRequest.map((one) => one.then((answer) => answer.status)))
    await until(() => setup().far.providerAnswers.length === 1)
    const duplicate = await answerOf(await sendTurn(account, 'at-once', bodyOf('slow', true)))
    expectProblem(duplicate, 'idempotency_in_progress')
    goOn()
    const statuses = await early
    await Promise.all(receivedRequest.map((one) => one.then((answer) => answer.text())))
    expect(new Set(statuses)).toEqual(new Set([200, 409]))
    await expectCharged(account, 1)
    expect((await sendTurn(account, 'at-once', bodyOf('slow', true))).headers.get('idempotency-replayed')).toBe('true')
    expect(setup().far.providerAnswers).toHaveLength(1)
  })

  it('A31: uncharged failures may run again; answers of disconnected clients are replayed', async () => {
    const account = await openAccount(setup().server)
    expect((await sendTurn(account, 'failed', bodyOf('full', true))).status).toBe(503)
    expect((await sendTurn(account, 'failed', bodyOf('full', true))).status).toBe(503)
    expect(setup().far.providerAnswers).toHaveLength(2)
    setup().far.forget()

    const controller = new AbortController()
    const left = send(setup().server, account, bodyOf('slow', true), {
      headers: { 'idempotency-key': 'left' },
      signal: controller.signal,
    })
    left.catch(() => {})
    await until(() => setup().far.providerAnswers.length === 1)
    controller.abort()
    goOn()
    await expectCharged(account, 1)
    const again = await sendTurn(account, 'left', bodyOf('slow', true))
    expect(await again.text()).toMatch(/\[DONE\]\n\n$/)
    await expectCharged(account, 1)
  })

  it.each([true, false])('A32: another body under a known key is an error (stream: %s)', async (stream) => {
    const account = await openAccount(setup().server)
    const body = JSON.stringify(bodyOf('good', stream))
    await (await sendTurn(account, 'reused', body)).text()
    for (const other of [`${body} `, JSON.stringify(bodyOf('good', !stream)), JSON.stringify(bodyOf('full', stream))])
      expectProblem(await answerOf(await sendTurn(account, 'reused', other)), 'idempotency_key_reused')
    await expectCharged(account, 1)
  })

  it('A32: an idempotency key is scoped to one API key', async () => {
    const account = await openAccount(setup().server)
    const other = await account.createKey()
    const texts = []
    for (const who of [account, other, account, other])
      texts.push(await (await sendTurn(who, 'shared', bodyOf('good', false))).text())
    expect(texts.slice(2)).toEqual(texts.slice(0, 2))
    expect(setup().far.providerAnswers).toHaveLength(2)
    await expectCharged(account, 2)
  })

  it.skipIf(onPostgres)('A32: neither the key nor the answer is on disk in plain text', async () => {
    const account = await openAccount(setup().server)
    const body = { ...bodyOf('good', true), messages: hello('canary of the question') }
    await (await sendTurn(account, 'canary-of-the-key', body)).text()
    await expectCharged(account, 1)
    const { folder } = setup().server
    const files = readdirSync(folder).filter((name) => statSync(join(folder, name)).isFile())
    expect(files).toContain('ledger.db')
    for (const name of files) {
      const bytes = readFileSync(join(folder, name))
      expect(bytes.includes('canary') || bytes.includes(WORDS.join('')), name).toBe(false)
    }
  })

  it('A32: an invalid key is refused by name', async () => {
    const account = await openAccount(setup().server)
    for (const key of ['w'.repeat(256), 'two words', 'ünicode']) {
      const answer = await answerOf(await sendTurn(account, key, bodyOf('good', true)))
      expectProblem(answer, 'idempotency_key_invalid')
    }
    expect(await account.receipts()).toEqual([])
  })
})
