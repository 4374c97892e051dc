import { describe, expect, it } from 'vitest'
import type { OutputAnswer } from '../../fakes/responses-frames.ts'
import { get } from '../../support/send-chat.ts'
import { respond, streamResponse } from '../../support/send-responses.ts'
import { nanoOf, openAccount } from '../../support/test-account.ts'
import { FAR_MODELS, MODELS, useResponsesServer } from './responses-server.ts'

/** Everything but the ids that are made for each answer. */
const sayings = (output: readonly Record<string, unknown>[]) =>
  output.map(({ id: _id, call_id: _call, ...emitted }) => emitted)

const lookUp = { type: 'function', name: 'look_up', parameters: { type: 'object' } }

const ANSWERS: Readonly<Record<string, OutputAnswer>> = {
  words: { items: [{ kind: 'message', words: ['Grüße ', 'aus 漢字 "', '\\ 🙂'] }] },
  'reasoning and words': {
    items: [
      { kind: 'reasoning', summary: ['Weighing', ' both'] },
      { kind: 'message', words: ['Both', '.'] },
    ],
  },
  'words and a call': {
    items: [
      { kind: 'message', words: ['Looking.'] },
      { kind: 'function', name: 'look_up', words: ['{"q":', '"x"}'] },
    ],
  },
  'a cut answer': { items: [{ kind: 'message', words: ['Half an '] }], status: 'incomplete' },
  'nothing at all': { items: [] },
}

describe('a wallet key gets a response', () => {
  const setup = useResponsesServer()

  it.each(MODELS)('streamed over %s, with the requested model name and its charge', async (model) => {
    const { server } = setup()
    const account = await openAccount(server)
    const before = await account.wallet()
    const streamed = await streamResponse(server, account, { model })
    const after = await account.wallet()
    const { response } = streamed
    expect(response).toMatchObject({ object: 'response', model, status: 'completed', store: true })
    expect(response.id).toMatch(/^resp_/)
    expect(streamed.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(response.output.at(-1).content[0].text).toMatch(model === 'swift' ? /Good day/ : /^Good morning$/)
    const { charge } = response.usage.millrace
    expect(after.held).toBe(0n)
    expect(nanoOf(charge)).toBe(before.balance - after.balance)
    const receipt = await get(server, account, `/requests/${streamed.requestId}`)
    expect(receipt.json).toMatchObject({ state: 'settled', outcome: 'completed', charge, model })
  })

  it.each(MODELS)('as JSON over %s, with its charge', async (model) => {
    const { server } = setup()
    const account = await openAccount(server)
    const before = await account.wallet()
    const { status, headers, requestId, json } = await respond(server, account, { model })
    const after = await account.wallet()
    expect(status).toBe(200)
    expect(headers.get('content-type')).toMatch(/^application\/json/)
    expect(json).toMatchObject({ object: 'response', model, status: 'completed', store: true })
    expect(nanoOf(json.usage.millrace.charge)).toBe(before.balance - after.balance)
    const receipt = await get(server, account, `/requests/${requestId}`)
    expect(receipt.json).toMatchObject({ state: 'settled', charge: json.usage.millrace.charge })
  })

  for (const model of FAR_MODELS) {
    it.each(Object.keys(ANSWERS))(`is the same as stream and JSON over ${model}: %s`, async (name) => {
      const { server, description } = setup()
      const account = await openAccount(server)
      description(ANSWERS[name]!)
      const body = { model, input: 'Look it up', tools: [lookUp], reasoning: { summary: 'auto' } }
      const streamed = await streamResponse(server, account, body)
      const { json } = await respond(server, account, body)
      const stored = await get(server, account, `/responses/${streamed.id}`)
      expect(stored.json).toEqual(streamed.response)
      expect((await get(server, account, `/responses/${json.id}`)).json).toEqual(json)
      expect(sayings(json.output)).toEqual(sayings(streamed.response.output))
      expect(json.usage).toEqual(streamed.response.usage)
      expect(json.status).toBe(streamed.response.status)
      expect(Object.keys(json).sort()).toEqual(Object.keys(streamed.response).sort())
      const receipts = await account.receipts()
      expect(receipts.map((row) => row.charge_nano)).toEqual([receipts[0]!.charge_nano, receipts[0]!.charge_nano])
      expect(nanoOf(json.usage.millrace.charge)).toBe(receipts[0]!.charge_nano)
    })
  }

  it('is the same over every lane', async () => {
    const { server, description } = setup()
    const account = await openAccount(server)
    for (const [name, answer] of Object.entries(ANSWERS)) {
      description(answer)
      const emitted: unknown[] = []
      for (const model of FAR_MODELS) {
        const body = { model, input: 'Look it up', tools: [lookUp], reasoning: { summary: 'auto' } }
        const { response } = await streamResponse(server, account, body)
        emitted.push([sayings(response.output), response.status, response.usage.millrace.charge])
      }
      expect(emitted, name).toEqual([emitted[0], emitted[0], emitted[0]])
    }
  })
})
