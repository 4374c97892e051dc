import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { openContent } from '../../../src/db/content/open-content.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { delivered } from '../../fakes/delivered.ts'
import { emitsFirstText, emitsInTwo } from '../../fakes/emit-items.ts'
import { expectProblem } from '../../support/expect-problem.ts'
import type { StreamedEvent } from '../../support/responses-grammar.ts'
import { get } from '../../support/send-chat.ts'
import { beginReading, respond, sendResponse, streamResponse } from '../../support/send-responses.ts'
import { startServer } from '../../support/start-server.ts'
import { openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { createPause, FAR_MODELS, HELLO, useResponsesServer } from './responses-server.ts'

const hasWords = (events: readonly StreamedEvent[]) => events.some(({ type }) => type === 'response.output_text.delta')
const idOf = ([created]: readonly StreamedEvent[]) => String((created?.response as { id?: unknown } | undefined)?.id)
const TABLES = ['responses', 'response_objects', 'items', 'response_items', 'events', 'account_keys', 'answers']

describe.each(FAR_MODELS)('a stored response over %s', (model) => {
  const setup = useResponsesServer()
  const pause = createPause()
  // A test that fails must not leave its provider waiting.
  afterEach(pause.goOn)
  const stream = { model, stream: true }

  it('is retrievable as in_progress as soon as its id is known', async () => {
    const { server, description } = setup()
    const account = await openAccount(server)
    description(emitsInTwo(HELLO, pause.wait))
    for (let round = 0; round < 5; round++) {
      const reading = beginReading(await sendResponse(server, account, stream))
      const id = idOf(await reading.until(({ length }) => length > 0))
      const { status, json } = await get(server, account, `/responses/${id}`)
      expect([status, json.status, json.output, json.usage]).toEqual([200, 'in_progress', [], null])
      const next = await respond(server, account, { model, previous_response_id: id, input: 'x' })
      expectProblem(next, 'previous_response_not_found', { message: /has not finished/ })
      await reading.hangUp()
      pause.goOn()
      await until(async () => (await get(server, account, `/responses/${id}`)).json.status !== 'in_progress')
    }
  })

  it('is cancelled on disconnect, and so is its provider call', async () => {
    const { server, description } = setup()
    const account = await openAccount(server)
    description(emitsInTwo(HELLO, pause.wait))
    const reading = beginReading(await sendResponse(server, account, stream))
    const id = idOf(await reading.until(hasWords))
    await reading.hangUp()
    await delivered()
    const ended = await until(async () => {
      const { json } = await get(server, account, `/responses/${id}`)
      return json.status !== 'in_progress' && json
    })
    expect((await account.receipts())[0]).toMatchObject({ outcome: 'client_gone' })
    expect(ended).toMatchObject({ id, status: 'cancelled', usage: null })
    const again = await get(server, account, `/responses/${id}?stream=true`)
    expectProblem(again, 'unsupported_value', { param: 'stream' })
  })

  it('is failed with partial output when its provider breaks, and its events can be replayed', async () => {
    const { server, description } = setup()
    const account = await openAccount(server)
    description(emitsFirstText(HELLO, async (providerAnswer) => providerAnswer.close()))
    const streamed = await streamResponse(server, account, stream)
    expect(streamed.events.slice(-2).map(({ type }) => type)).toEqual(['error', 'response.failed'])
    expect(streamed.response).toMatchObject({ status: 'failed', error: { code: 'upstream_error' }, usage: null })
    expect(streamed.response.output[0]).toMatchObject({ status: 'incomplete', content: [{ text: 'Good ' }] })
    const { json } = await get(server, account, `/responses/${streamed.id}`)
    expect(json).toEqual(streamed.response)
    const next = await respond(server, account, { previous_response_id: streamed.id, input: 'x' })
    expectProblem(next, 'previous_response_not_found', { message: /failed/ })
  })

  it('can be streamed again from any event', async () => {
    const { server } = setup()
    const account = await openAccount(server)
    const { id, text, events } = await streamResponse(server, account, { model })
    const whole = await readAgain(id, '')
    expect(whole).toBe(text)
    const frames = text.split('\n\n')
    for (let after = -1; after <= events.length; after++) {
      const rest = await readAgain(id, `&starting_after=${Math.max(0, after)}`)
      expect(rest).toBe([...frames.slice(1 + Math.max(0, after), events.length), 'data: [DONE]', ''].join('\n\n'))
    }
    for (const odd of ['-1', '1.5', 'x', '1e3', '9'.repeat(16)]) {
      const answer = await get(server, account, `/responses/${id}?stream=true&starting_after=${odd}`)
      expectProblem(answer, 'invalid_value', { param: 'starting_after' })
    }

    async function readAgain(which: string, more: string): Promise<string> {
      const headers = { authorization: `Bearer ${account.key}` }
      const answer = await fetch(`${server.baseUrl}/responses/${which}?stream=true${more}`, { headers })
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
      return answer.text()
    }
  })

  it('cannot be streamed when it was created without stream', async () => {
    const { server } = setup()
    const account = await openAccount(server)
    const { json } = await respond(server, account, { model })
    const answer = await get(server, account, `/responses/${json.id}?stream=true`)
    expectProblem(answer, 'unsupported_value', { param: 'stream', message: /not streamed/ })
    expect((await get(server, account, `/responses/${json.id}?stream=false`)).json).toEqual(json)
  })
})

it('nothing of a store: false request is in content.db', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-unstored-'))
  const server = await startServer({ folder })
  const account = await openAccount(server)
  const { id, response } = await streamResponse(server, account, { store: false })
  const { json } = await respond(server, account, { store: false })
  expect([response.store, json.store]).toEqual([false, false])
  for (const unstored of [id, json.id]) {
    expectProblem(await get(server, account, `/responses/${unstored}`), 'response_not_found')
    expectProblem(await respond(server, account, { previous_response_id: unstored }), 'previous_response_not_found')
  }
  await server.close()
  const content = await openContent({ path: join(folder, 'content.db'), clock: systemClock })
  for (const table of TABLES) expect(await content.all(`SELECT * FROM ${table}`, []), table).toEqual([])
  await content.close()
  await rm(folder, { recursive: true })
})
