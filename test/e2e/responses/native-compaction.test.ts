import { describe, expect, it } from 'vitest'
import type { ProviderAnswer } from '../../fakes/answers.ts'
import { delivered } from '../../fakes/delivered.ts'
import { emitsAnswer } from '../../fakes/emit-items.ts'
import type { Script } from '../../fakes/fault-upstream.ts'
import { emitEvents, RESPONSES_USAGE, responseObject } from '../../fakes/responses-frames.ts'
import { respond, sendResponse, streamResponse } from '../../support/send-responses.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { createPause, useResponsesServer } from './responses-server.ts'

const TRIGGER = { type: 'compaction_trigger' }
const body = { model: 'over-native', input: [{ role: 'user', content: 'The gate opens with code 4711.' }, TRIGGER] }
const ITEM = { id: 'cmp_theirs', type: 'compaction', encrypted_content: 'a-blob-of-theirs' }
/** 7 of input at 1.00, 4 from the cache at 0.25, 7 of output at 2.00 a million. */
const CHARGE = 22_000n

const isTriggered = ({ receivedRequest: { input } }: ProviderAnswer): boolean =>
  Array.isArray(input) && input.at(-1)?.type === 'compaction_trigger'

/** Its own compaction, with a word in the middle of it. */
const compacts =
  ({ usage = RESPONSES_USAGE, between }: { usage?: object | null; between?: Script } = {}): Script =>
  async (providerAnswer) => {
    const begun = responseObject(providerAnswer.model, {})
    await providerAnswer.head()
    await emitEvents(providerAnswer, [{ type: 'response.created', sequence_number: 0, response: begun }])
    await between?.(providerAnswer)
    await emitEvents(providerAnswer, [
      { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: ITEM },
      { type: 'response.output_item.done', sequence_number: 2, output_index: 0, item: ITEM },
      {
        ...{ type: 'response.completed', sequence_number: 3 },
        response: responseObject(providerAnswer.model, { status: 'completed', output: [ITEM], usage }),
      },
    ])
    await providerAnswer.end()
  }

const SUMMARY = emitsAnswer({ items: [{ kind: 'message', words: ['The gate', ' opens', ' with 4711.'] }] })
const refuses =
  (message: string, param: string): Script =>
  async (providerAnswer) => {
    await providerAnswer.head(400)
    await providerAnswer.bytes(JSON.stringify({ error: { message, type: 'invalid_request_error', param, code: null } }))
    await providerAnswer.end()
  }
const summarisesInstead =
  (ofTrigger: Script): Script =>
  (providerAnswer) =>
    (isTriggered(providerAnswer) ? ofTrigger : SUMMARY)(providerAnswer)

const sealed = { encrypted_content: expect.stringMatching(/^mr1\./) }

const receiptOf = (account: TestAccount) =>
  until(async () => {
    const receipts = await account.receipts()
    return receipts.length === 1 && receipts[0]?.state !== 'open' && receipts[0]
  })

describe('native compaction', () => {
  const setup = useResponsesServer()

  it.each(['json', 'stream'])('is charged by usage, and its item is sealed: %s', async (delivery) => {
    const account = await openAccount(setup().server)
    setup().description(compacts())
    const response =
      delivery === 'json'
        ? (await respond(setup().server, account, body)).json
        : (await streamResponse(setup().server, account, body)).response
    expect(response.output).toEqual([{ id: expect.stringMatching(/^cmp_/), type: 'compaction', ...sealed }])
    expect(await receiptOf(account)).toMatchObject({ outcome: 'completed', charge_nano: CHARGE, estimated: 0 })
  })

  it('without usage is charged by a flagged estimate', async () => {
    const account = await openAccount(setup().server)
    setup().description(compacts({ usage: null }))
    const { json } = await respond(setup().server, account, body)
    const receipt = await receiptOf(account)
    expect(receipt).toMatchObject({ state: 'settled', outcome: 'completed', estimated: 1 })
    expect(receipt?.charge_nano).toBeGreaterThan(0n)
    expect(json.usage.millrace.estimated).toBe(true)
  })

  it('that breaks off costs nothing', async () => {
    const account = await openAccount(setup().server)
    setup().description(compacts({ between: async (providerAnswer) => providerAnswer.reset() }))
    const { status, json } = await respond(setup().server, account, body)
    expect([status, json.error.code]).toEqual([503, 'server_is_overloaded'])
    expect(await receiptOf(account)).toMatchObject({ state: 'released', charge_nano: 0n })
  })

  it('is cancelled on disconnect and charged by an estimate', async () => {
    const account = await openAccount(setup().server)
    const { wait, goOn } = createPause()
    setup().description(compacts({ between: wait }))
    const controller = new AbortController()
    const requesting = sendResponse(setup().server, account, body, { signal: controller.signal })
    await until(() => setup().far.providerAnswers.length === 1)
    controller.abort()
    await expect(requesting).rejects.toThrow(/abort/)
    await delivered()
    goOn()
    expect(await receiptOf(account)).toMatchObject({ outcome: 'client_gone', estimated: 1, shortfall_nano: 0n })
  })
})

describe('a provider without native compaction', () => {
  const setup = useResponsesServer()
  const how = () =>
    setup().far.providerAnswers.map((providerAnswer) => (isTriggered(providerAnswer) ? 'by itself' : 'by a summary'))

  it('that refuses for another reason gets a summary request, once', async () => {
    const account = await openAccount(setup().server)
    setup().description(refuses('The message is no good.', 'input[0]'))
    const { status, json } = await respond(setup().server, account, body)
    expect([status, json.error.code]).toEqual([400, 'upstream_rejected'])
    expect(await receiptOf(account)).toMatchObject({ state: 'released', charge_nano: 0n })
    expect(how()).toEqual(['by itself', 'by a summary'])
    setup().far.forget()
    setup().description(compacts())
    expect((await respond(setup().server, account, body)).status).toBe(200)
    expect(how()).toEqual(['by itself'])
  })

  it('that rejects a field is retried without it', async () => {
    const account = await openAccount(setup().server)
    setup().description((providerAnswer) =>
      'temperature' in providerAnswer.receivedRequest
        ? refuses(
            "Unsupported parameter: 'temperature' is not supported with this model.",
            'temperature',
          )(providerAnswer)
        : compacts()(providerAnswer),
    )
    expect((await respond(setup().server, account, { ...body, temperature: 1 })).status).toBe(200)
    expect(how()).toEqual(['by itself', 'by itself'])
  })

  it.each([
    ['refuses the trigger', refuses("Invalid value: 'compaction_trigger'.", 'input[1].type')],
    ['answers with something else', SUMMARY],
  ])('and %s gets a summary request, charged once, and is remembered', async (_what, ofTrigger) => {
    const { server } = setup()
    const account = await openAccount(server)
    setup().description(summarisesInstead(ofTrigger))
    expect((await respond(server, account, body)).json.output).toMatchObject([{ type: 'compaction', ...sealed }])
    expect(await receiptOf(account)).toMatchObject({ outcome: 'completed', charge_nano: CHARGE })
    expect(how().at(-1)).toBe('by a summary')
    setup().far.forget()
    expect((await respond(server, account, body)).status).toBe(200)
    expect(how()).toEqual(['by a summary'])
  })
})
