import { afterEach, describe, expect, it } from 'vitest'
import { emitsAnswer, emitsInTwo } from '../../fakes/emit-items.ts'
import { expectProblem } from '../../support/expect-problem.ts'
import { answerOf, get, send } from '../../support/send-chat.ts'
import { beginReading, respond, sendResponse } from '../../support/send-responses.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { createPause, FAR_MODELS, HELLO, useResponsesServer } from './responses-server.ts'

const cancel = async (server: Parameters<typeof send>[0], who: TestAccount, id: string) =>
  answerOf(await send(server, who, {}, { path: `/responses/${id}/cancel` }))

describe.each(FAR_MODELS)('a running response over %s', (model) => {
  const setup = useResponsesServer()
  const pause = createPause()
  // A test that fails must not leave its provider waiting.
  afterEach(pause.goOn)

  const openStream = async (body: object = {}) => {
    const { server, description } = setup()
    const account = await openAccount(server)
    description(emitsInTwo(HELLO, pause.wait))
    const reading = beginReading(await sendResponse(server, account, { model, stream: true, ...body }))
    const events = await reading.until((seen) => seen.some(({ type }) => type === 'response.output_text.delta'))
    const id = String((events[0]?.response as { id?: unknown } | undefined)?.id)
    return { server, account, reading, id, seen: events.length }
  }
  const follow = async (account: TestAccount, id: string, more = '') => {
    const { server } = setup()
    const headers = { authorization: `Bearer ${account.key}` }
    return fetch(`${server.baseUrl}/responses/${id}?stream=true${more}`, { headers })
  }
  const statusOf = async (account: TestAccount, id: string) =>
    (await get(setup().server, account, `/responses/${id}`)).json.status

  it('can be followed from any event while it runs, and has the same bytes', async () => {
    const { account, reading, id, seen } = await openStream()
    const [whole, rest] = await Promise.all([follow(account, id), follow(account, id, `&starting_after=${seen - 1}`)])
    const [early, late] = [beginReading(whole), beginReading(rest)]
    // It comes before the provider goes on.
    await early.until(({ length }) => length >= seen)
    pause.goOn()
    await Promise.all([reading.rest(), early.rest(), late.rest()])
    expect(early.text).toBe(reading.text)
    expect(late.text).toBe(reading.text.split('\n\n').slice(seen).join('\n\n'))
    expect(await (await follow(account, id)).text()).toBe(reading.text)
    expect(await account.receipts()).toHaveLength(1)
  })

  it('goes on in the background when its client has left, is followed to its end, and is charged once', async () => {
    const { account, reading, id, seen } = await openStream({ background: true })
    await reading.hangUp()
    const followed = beginReading(await follow(account, id, `&starting_after=${seen - 1}`))
    pause.goOn()
    const events = await followed.rest()
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { id, background: true } })
    expect(reading.text + followed.text).toBe(await (await follow(account, id)).text())
    await until(async () => (await account.receipts())[0]?.state === 'settled')
    expect(await account.receipts()).toMatchObject([{ outcome: 'completed' }])
  })

  it.each(['key', 'account'])('is cut off for a follower whose %s may no longer call, and goes on', async (what) => {
    const { server, account, reading, id } = await openStream()
    const other = await account.createKey()
    const follower = what === 'key' ? { ...account, key: other.key } : account
    const followed = beginReading(await follow(follower, id, '&starting_after=0'))
    await followed.until(({ length }) => length > 0)
    if (what === 'key') await server.operate('keys.revoke', { key: other.id })
    else await server.operate('accounts.suspend', { account: account.id })
    await expect(followed.rest()).rejects.toThrow('terminated')
    pause.goOn()
    expect((await reading.rest()).at(-1)).toMatchObject({ type: 'response.completed' })
    expect(await account.receipts()).toMatchObject([{ outcome: 'completed' }])
  })

  if (model === 'over-native')
    it('is charged in the background where its request has as many items as are stored', async () => {
      const { server, description } = setup()
      const account = await openAccount(server)
      const items = [{ kind: 'reasoning', summary: ['think'] } as const, ...(HELLO.items ?? [])]
      description(emitsAnswer({ items }))
      const input = Array.from({ length: 4999 }, (_, at) => ({ role: 'user', content: `${at}` }))
      const { json } = await respond(server, account, { model, background: true, input })
      const receipt = await until(async () => (await account.receipts()).find(({ state }) => state !== 'open'))
      expect(receipt).toMatchObject({ state: 'settled', outcome: 'completed' })
      expect(await statusOf(account, json.id)).toBe('completed')
    })

  // It waits for the sweep, to which all providers are the same.
  if (model === FAR_MODELS[0])
    it('has failed when its request is over but its end could not be written, and not while it runs', async () => {
      const { server, account, reading, id } = await openStream()
      const over = (await respond(server, account, { model: 'swift' })).json.id
      // As a full disk leaves it. The sweep looks at what is older than 20 s.
      const sql = "UPDATE responses SET status = 'in_progress', created_at = created_at - 60000"
      await server.app.operations.files.content.atomic([{ sql, rows: [[]] }])
      await until(async () => (await statusOf(account, over)) === 'failed')
      expect(await statusOf(account, id)).toBe('in_progress')
      pause.goOn()
      expect((await reading.rest()).at(-1)).toMatchObject({ type: 'response.completed' })
      await until(async () => (await statusOf(account, id)) === 'completed')
    })

  it('ends for its followers when its client leaves it', async () => {
    const { account, reading, id } = await openStream()
    const followed = beginReading(await follow(account, id, '&starting_after=0'))
    await followed.until(({ length }) => length > 0)
    await reading.hangUp()
    const events = await followed.rest()
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { id, error: { code: 'response_cancelled' } },
    })
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at + 1))
    expect(await account.receipts()).toMatchObject([{ outcome: 'client_gone' }])
  })

  it('is cancelled in the background: the provider is stopped, what was produced is charged, and its readers are told', async () => {
    const { server, account, reading, id } = await openStream({ background: true })
    const cancelled = await cancel(server, account, id)
    expect(cancelled).toMatchObject({ status: 200, json: { id, status: 'cancelled', background: true } })
    await setup().far.providerAnswers.at(-1)?.closed
    const events = await reading.rest()
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { error: { code: 'response_cancelled' } },
    })
    const [receipt] = await until(async () => {
      const receipts = await account.receipts()
      return receipts[0]?.state === 'settled' && receipts
    })
    expect(receipt).toMatchObject({ outcome: 'client_gone' })
    expect(receipt!.charge_nano).toBeGreaterThan(0n)
    expect(await statusOf(account, id)).toBe('cancelled')
    expect((await cancel(server, account, id)).json.status).toBe('cancelled')
  })

  it('stops in the background when it is deleted', async () => {
    const { server, account, reading, id } = await openStream({ background: true })
    const headers = { authorization: `Bearer ${account.key}` }
    const removed = await fetch(`${server.baseUrl}/responses/${id}`, { method: 'DELETE', headers })
    expect(removed.status).toBe(200)
    await setup().far.providerAnswers.at(-1)?.closed
    await reading.rest()
    const [receipt] = await until(async () => {
      const receipts = await account.receipts()
      return receipts[0]?.state === 'settled' && receipts
    })
    expect(receipt).toMatchObject({ outcome: 'client_gone' })
    expectProblem(await get(server, account, `/responses/${id}`), 'response_not_found')
  })

  it('is answered at once without stream, and polled', async () => {
    const { server, description } = setup()
    const account = await openAccount(server)
    description(async (answer) => {
      await pause.wait(answer)
      await emitsAnswer(HELLO)(answer)
    })
    const { status, json } = await respond(server, account, { model, background: true })
    expect([status, json.status, json.background, json.output]).toEqual([200, 'in_progress', true, []])
    expect(await statusOf(account, json.id)).toBe('in_progress')
    await until(async () => {
      pause.goOn()
      return (await statusOf(account, json.id)) === 'completed'
    })
    const { json: ended } = await get(server, account, `/responses/${json.id}`)
    expect(ended.output[0].content[0].text).toBe('Good morning')
    // The answer is stored before its charge.
    const receipt = await until(async () => (await account.receipts()).find(({ state }) => state !== 'open'))
    expect(receipt).toMatchObject({ outcome: 'completed' })
    // Nothing is left to be cancelled.
    expect((await cancel(server, account, json.id)).json.status).toBe('completed')
    description(HELLO)
    const next = await respond(server, account, { model, previous_response_id: json.id, input: 'x' })
    expect(next.json.status).toBe('completed')
  })

  it('that fails in the background says so where it is fetched, and costs nothing', async () => {
    const { server, description } = setup()
    const account = await openAccount(server)
    description(async (answer) => {
      await answer.head(400, { 'content-type': 'application/json' })
      await answer.bytes(JSON.stringify({ error: { message: 'no', code: 'x', type: 'y' } }))
      await answer.end()
    })
    const { json } = await respond(server, account, { model, background: true })
    await until(async () => (await statusOf(account, json.id)) === 'failed')
    expect((await get(server, account, `/responses/${json.id}`)).json.error.code).toBe('upstream_rejected')
    expect(await account.wallet()).toMatchObject({ held: 0n })
  })

  it('can be cancelled in the background only, and only by its account', async () => {
    const { server, account, reading, id } = await openStream()
    const refused = await cancel(server, account, id)
    expectProblem(refused, 'invalid_value', { message: /background: true/ })
    const stranger = await openAccount(server)
    expectProblem(await cancel(server, stranger, id), 'response_not_found')
    expectProblem(await get(server, stranger, `/responses/${id}?stream=true`), 'response_not_found')
    pause.goOn()
    await reading.rest()
  })

  it('needs to be stored for the background', async () => {
    const { server } = setup()
    const account = await openAccount(server)
    const answer = await respond(server, account, { model, background: true, store: false })
    expectProblem(answer, 'unsupported_value', { param: 'background' })
  })
})
