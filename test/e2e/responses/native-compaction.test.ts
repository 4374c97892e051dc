import { describe, expect, it } from 'vitest'
import { delivered } from '../../fakes/delivered.ts'
import type { Script } from '../../fakes/fault-upstream.ts'
import { RESPONSES_USAGE, responseObject, sayEvents } from '../../fakes/responses-frames.ts'
import { saysAnswer } from '../../fakes/emit-items.ts'
import type { Talk } from '../../fakes/answers.ts'
import { respond, sendResponse, streamResponse } from '../../support/send-responses.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { createPause, useResponsesHouse } from './responses-server.ts'

const TRIGGER = { type: 'compaction_trigger' }
const body = { model: 'over-native', input: [{ role: 'user', content: 'The gate opens with code 4711.' }, TRIGGER] }
const ITEM = { id: 'cmp_theirs', type: 'compaction', encrypted_content: 'a-blob-of-theirs' }
/** 7 of input at 1.00, 4 from the cache at 0.25, 7 of output at 2.00 a million. */
const CHARGE = 22_000n

const isTriggered = ({ asked: { input } }: Talk): boolean =>
  Array.isArray(input) && input.at(-1)?.type === 'compaction_trigger'

/** Its own compaction, with a word in the middle of it. */
const compacts =
  ({ usage = RESPONSES_USAGE, between }: { usage?: object | null; between?: Script } = {}): Script =>
  async (talk) => {
    const begun = responseObject(talk.model, {})
    await talk.head()
    await sayEvents(talk, [{ type: 'response.created', sequence_number: 0, response: begun }])
    await between?.(talk)
    await sayEvents(talk, [
      { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: ITEM },
      { type: 'response.output_item.done', sequence_number: 2, output_index: 0, item: ITEM },
      {
        ...{ type: 'response.completed', sequence_number: 3 },
        response: responseObject(talk.model, { status: 'completed', output: [ITEM], usage }),
      },
    ])
    await talk.end()
  }

const SUMMARY = saysAnswer({ items: [{ kind: 'message', words: ['The gate', ' opens', ' with 4711.'] }] })
const refuses =
  (message: string, param: string): Script =>
  async (talk) => {
    await talk.head(400)
    await talk.bytes(JSON.stringify({ error: { message, type: 'invalid_request_error', param, code: null } }))
    await talk.end()
  }
const summarisesInstead =
  (ofTrigger: Script): Script =>
  (talk) =>
    (isTriggered(talk) ? ofTrigger : SUMMARY)(talk)

const sealed = { encrypted_content: expect.stringMatching(/^mr1\./) }

const receiptOf = (account: TestAccount) =>
  until(async () => {
    const receipts = await account.receipts()
    return receipts.length === 1 && receipts[0]?.state !== 'open' && receipts[0]
  })

describe('a provider that makes conversations short itself', () => {
  const house = useResponsesHouse()

  it.each(['json', 'stream'])('is paid for what it counted, and its item is wrapped: %s', async (delivery) => {
    const account = await openAccount(house().server)
    house().says(compacts())
    const response =
      delivery === 'json'
        ? (await respond(house().server, account, body)).json
        : (await streamResponse(house().server, account, body)).response
    expect(response.output).toEqual([{ id: expect.stringMatching(/^cmp_/), type: 'compaction', ...sealed }])
    expect(await receiptOf(account)).toMatchObject({ outcome: 'completed', charge_nano: CHARGE, estimated: 0 })
  })

  it('that told no counts is paid an estimate, flagged', async () => {
    const account = await openAccount(house().server)
    house().says(compacts({ usage: null }))
    const { json } = await respond(house().server, account, body)
    const receipt = await receiptOf(account)
    expect(receipt).toMatchObject({ state: 'settled', outcome: 'completed', estimated: 1 })
    expect(receipt?.charge_nano).toBeGreaterThan(0n)
    expect(json.usage.millrace.estimated).toBe(true)
  })

  it('and breaks off on the way has given nothing, and costs nothing', async () => {
    const account = await openAccount(house().server)
    house().says(compacts({ between: async (talk) => talk.reset() }))
    const { status, json } = await respond(house().server, account, body)
    expect([status, json.error.code]).toEqual([503, 'server_is_overloaded'])
    expect(await receiptOf(account)).toMatchObject({ state: 'released', charge_nano: 0n })
  })

  it('is not read on for a client that has gone, and costs what it is taken for', async () => {
    const account = await openAccount(house().server)
    const { wait, goOn } = createPause()
    house().says(compacts({ between: wait }))
    const controller = new AbortController()
    const asking = sendResponse(house().server, account, body, { signal: controller.signal })
    await until(() => house().far.talks.length === 1)
    controller.abort()
    await expect(asking).rejects.toThrow(/abort/)
    await delivered()
    goOn()
    expect(await receiptOf(account)).toMatchObject({ outcome: 'client_gone', estimated: 1, shortfall_nano: 0n })
  })
})

describe('a provider that was taken for one', () => {
  const house = useResponsesHouse()
  const how = () => house().far.talks.map((talk) => (isTriggered(talk) ? 'by itself' : 'by a summary'))

  it('and refuses for another reason is asked for a summary, and the next time by itself again', async () => {
    const account = await openAccount(house().server)
    house().says(refuses('The message is no good.', 'input[0]'))
    const { status, json } = await respond(house().server, account, body)
    expect([status, json.error.code]).toEqual([400, 'upstream_rejected'])
    expect(await receiptOf(account)).toMatchObject({ state: 'released', charge_nano: 0n })
    expect(how()).toEqual(['by itself', 'by a summary'])
    house().far.forget()
    house().says(compacts())
    expect((await respond(house().server, account, body)).status).toBe(200)
    expect(how()).toEqual(['by itself'])
  })

  it('and does not know a field of the request is asked by itself without it', async () => {
    const account = await openAccount(house().server)
    house().says((talk) =>
      'temperature' in talk.asked
        ? refuses("Unsupported parameter: 'temperature' is not supported with this model.", 'temperature')(talk)
        : compacts()(talk),
    )
    expect((await respond(house().server, account, { ...body, temperature: 1 })).status).toBe(200)
    expect(how()).toEqual(['by itself', 'by itself'])
  })

  it.each([
    ['refuses the trigger', refuses("Invalid value: 'compaction_trigger'.", 'input[1].type')],
    ['answers with something else', SUMMARY],
  ])('and %s is asked for a summary, charged once, and remembered', async (_what, ofTrigger) => {
    const { server } = house()
    const account = await openAccount(server)
    house().says(summarisesInstead(ofTrigger))
    expect((await respond(server, account, body)).json.output).toMatchObject([{ type: 'compaction', ...sealed }])
    expect(await receiptOf(account)).toMatchObject({ outcome: 'completed', charge_nano: CHARGE })
    expect(how().at(-1)).toBe('by a summary')
    house().far.forget()
    expect((await respond(server, account, body)).status).toBe(200)
    expect(how()).toEqual(['by a summary'])
  })
})
