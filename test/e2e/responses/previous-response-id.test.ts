import { describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { get } from '../../support/send-chat.ts'
import { deleteResponse, respond, streamResponse } from '../../support/send-responses.ts'
import { openAccount } from '../../support/test-account.ts'
import { FAR_MODELS, type FarModel, useResponsesServer } from './responses-server.ts'
import { CALLS, LOOK_UP, TOOLS } from './tools.ts'

/** Whatever it was sent, as lines that are the same for both wires. */
function deliveredTo(receivedRequest: Readonly<Record<string, unknown>>): string[] {
  const textOf = (content: unknown): string =>
    typeof content === 'string'
      ? content
      : ((content as { text: string }[] | null) ?? []).map(({ text }) => text).join('')
  const items = (receivedRequest.input ?? receivedRequest.messages) as readonly Record<string, unknown>[]
  return items.flatMap((item): string[] => {
    if (item.role === 'tool') return [`result: ${item.content}`]
    if (Array.isArray(item.tool_calls)) {
      const words = textOf(item.content)
      const calls = item.tool_calls.map(({ function: { name, arguments: text } }) => `call: ${name} ${text}`)
      return [...(words === '' ? [] : [`assistant: ${words}`]), ...calls]
    }
    if (item.role !== undefined) return [`${item.role}: ${textOf(item.content)}`]
    if (item.type === 'function_call') return [`call: ${item.name} ${item.arguments}`]
    if (item.type === 'custom_tool_call') return [`call: ${item.name} ${JSON.stringify({ input: item.input })}`]
    return [`result: ${item.output}`]
  })
}

/** Every order in which three lanes can follow one another. */
const ORDERS = FAR_MODELS.flatMap((first) =>
  FAR_MODELS.flatMap((second) => FAR_MODELS.map((third): FarModel[] => [first, second, third])),
)

describe('a conversation continues', () => {
  const setup = useResponsesServer()

  it.each(ORDERS)('with previous_response_id, by tools, over %s, then %s, then %s', async (first, second, third) => {
    const { server, description, receivedRequest } = setup()
    const account = await openAccount(server)
    description({ items: [{ kind: 'message', words: ['Let me see.'] }, CALLS.look_up, CALLS.patch] })
    const one = await streamResponse(server, account, {
      ...{ model: first, tools: TOOLS, instructions: 'Only this time' },
      input: [{ role: 'user', content: 'Go' }],
    })
    const [, lookUp, patch] = one.response.output

    description({ items: [CALLS['agents.wait']] })
    const two = await respond(server, account, {
      ...{ model: second, tools: TOOLS, previous_response_id: one.id },
      input: [
        { type: 'custom_tool_call_output', call_id: patch.call_id, output: 'patched' },
        { type: 'function_call_output', call_id: lookUp.call_id, output: 'found' },
      ],
    })
    expect(two.json, JSON.stringify(two.json)).toMatchObject({ previous_response_id: one.id, instructions: null })
    const before = deliveredTo(receivedRequest())

    description({ items: [{ kind: 'message', words: ['Done.'] }] })
    const three = await streamResponse(server, account, {
      ...{ model: third, tools: TOOLS, previous_response_id: two.json.id },
      input: [{ type: 'function_call_output', call_id: two.json.output[0].call_id, output: 'waited' }],
    })
    expect(three.response.previous_response_id).toBe(two.json.id)
    const wait = third === 'over-native' ? 'wait' : 'agents__wait'
    const start = ['user: Go', 'assistant: Let me see.', `call: look_up {"q":"Grüße 🙂"}`]
    const patched = `call: patch ${JSON.stringify({ input: CALLS.patch.words.join('') })}`
    // Chat wants results in the order of their calls; otherwise they stay as they were sent.
    const results = (model: FarModel) =>
      model === 'over-chat' ? ['result: found', 'result: patched'] : ['result: patched', 'result: found']
    expect(before).toEqual([...start, patched, ...results(second)])
    expect(deliveredTo(receivedRequest())).toEqual([
      ...[...start, patched, ...results(third)],
      ...[`call: ${wait} {"q":"a"}`, 'result: waited'],
    ])
    const third_ = await get(server, account, `/responses/${three.id}`)
    expect(third_.json).toEqual(three.response)
  })

  it.each(FAR_MODELS)('with item references over %s', async (model) => {
    const { server, description, receivedRequest } = setup()
    const account = await openAccount(server)
    description({
      items: [{ kind: 'reasoning', summary: ['Hm'] }, { kind: 'message', words: ['Let me see.'] }, CALLS.look_up],
    })
    const { json } = await respond(server, account, {
      model,
      tools: [LOOK_UP],
      input: 'Go',
      reasoning: { summary: 'auto' },
    })
    const [reasoning, message, call] = json.output
    const input = [
      { role: 'user', content: 'Go' },
      ...[reasoning, message].map(({ id }) => ({ type: 'item_reference', id })),
      { id: call.id },
      { type: 'function_call_output', call_id: call.call_id, output: 'found' },
    ]
    const next = await respond(server, account, { model, tools: [LOOK_UP], input })
    expect(next.status, JSON.stringify(next.json)).toBe(200)
    const reported = deliveredTo({
      input: (receivedRequest().input as object[] | undefined)?.filter((item) => !('summary' in item)),
      ...receivedRequest(),
    })
    expect(reported.filter((line) => line !== 'result: undefined')).toEqual([
      ...['user: Go', 'assistant: Let me see.'],
      ...['call: look_up {"q":"Grüße 🙂"}', 'result: found'],
    ])
  })

  it('does not inherit instructions', async () => {
    const { server, receivedRequest } = setup()
    const account = await openAccount(server)
    for (const model of FAR_MODELS) {
      const one = await respond(server, account, { model, instructions: 'SECRET' })
      expect(one.json.instructions).toBe('SECRET')
      await respond(server, account, { model, previous_response_id: one.json.id, input: 'And?' })
      expect(JSON.stringify(receivedRequest())).not.toContain('SECRET')
      await respond(server, account, { model, previous_response_id: one.json.id, input: 'And?', instructions: 'OTHER' })
      expect(JSON.stringify(receivedRequest())).toContain('OTHER')
    }
  })

  it('from an incomplete answer, but not from a failed or running one', async () => {
    const { server, description, receivedRequest } = setup()
    const account = await openAccount(server)
    description({ items: [{ kind: 'message', words: ['Half'] }], status: 'incomplete' })
    const cut = await respond(server, account, { model: 'over-plain' })
    expect(cut.json).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
    const next = await respond(server, account, { model: 'over-chat', previous_response_id: cut.json.id, input: 'On' })
    expect(next.status).toBe(200)
    expect(deliveredTo(receivedRequest())).toEqual(['user: Good day', 'assistant: Half', 'user: On'])
  })

  it('not from an unknown id', async () => {
    const { server, far } = setup()
    const account = await openAccount(server)
    const previous = await respond(server, account, { previous_response_id: 'resp_nobody' })
    expectProblem(previous, 'previous_response_not_found', { param: 'previous_response_id', message: /72 hours/ })
    const item = await respond(server, account, {
      input: [
        { role: 'user', content: 'x' },
        { type: 'item_reference', id: 'msg_nobody' },
      ],
    })
    expectProblem(item, 'item_not_found', { param: 'input[1]', message: /msg_nobody/ })
    expect([far.providerAnswers, await account.receipts()]).toEqual([[], []])
  })

  it('from a response whose predecessor is deleted, but not from the deleted one', async () => {
    const { server, receivedRequest } = setup()
    const account = await openAccount(server)
    const one = await streamResponse(server, account, { model: 'over-chat', input: 'First' })
    const two = await respond(server, account, { model: 'over-chat', input: 'Second', previous_response_id: one.id })
    const deleted = await deleteResponse(server, account, one.id)
    expect(deleted.json).toEqual({ id: one.id, object: 'response.deleted', deleted: true })
    expectProblem(await get(server, account, `/responses/${one.id}`), 'response_not_found')
    expectProblem(await get(server, account, `/responses/${one.id}?stream=true`), 'response_not_found')
    expectProblem(await deleteResponse(server, account, one.id), 'response_not_found')
    const onDeleted = await respond(server, account, { input: 'x', previous_response_id: one.id })
    expectProblem(onDeleted, 'previous_response_not_found')
    const three = await respond(server, account, {
      model: 'over-chat',
      input: 'Third',
      previous_response_id: two.json.id,
    })
    expect(three.status).toBe(200)
    expect(deliveredTo(receivedRequest())).toEqual([
      ...['user: First', 'assistant: Good morning', 'user: Second', 'assistant: Good morning', 'user: Third'],
    ])
  })
})

describe('a server without storage', () => {
  const setup = useResponsesServer({ config: 'retention: { state_bytes: 0 }' })

  it('says store: false in every response and explains why continuing is impossible', async () => {
    const { server } = setup()
    const account = await openAccount(server)
    const { response, id } = await streamResponse(server, account, { store: true })
    expect(response.store).toBe(false)
    expect((await respond(server, account)).json.store).toBe(false)
    expectProblem(await get(server, account, `/responses/${id}`), 'response_not_found')
    const next = await respond(server, account, { previous_response_id: id })
    expectProblem(next, 'previous_response_not_found', { message: /stores no responses/ })
    const item = await respond(server, account, { input: [{ type: 'item_reference', id: response.output[0].id }] })
    expectProblem(item, 'item_not_found', { message: /stores no responses/ })
  })
})
