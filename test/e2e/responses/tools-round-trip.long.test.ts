import { describe, expect, it } from 'vitest'
import type { OutputAnswer } from '../../fakes/responses-frames.ts'
import { expectProblem } from '../../support/expect-problem.ts'
import { respond, streamResponse } from '../../support/send-responses.ts'
import { openAccount } from '../../support/test-account.ts'
import { FAR_MODELS, type FarModel, useResponsesServer } from './responses-server.ts'
import { CALLS, DECLARED, itemOfCall, LOOK_UP, TOOLS } from './tools.ts'

const all = Object.values(CALLS)

const ANSWERS: Readonly<Record<string, OutputAnswer>> = {
  ...Object.fromEntries(Object.entries(CALLS).map(([name, call]) => [`a call of ${name}`, { items: [call] }])),
  'all of them, one after the other': { items: all },
  'all of them, said at once': { items: all, isInterleaved: true },
  'words before them': { items: [{ kind: 'message', words: ['Let me ', 'see.'] }, ...all] },
}

const sayings = (output: readonly Record<string, unknown>[]) =>
  output.map(({ id: _id, call_id: _call, ...emitted }) => emitted)

describe.each(FAR_MODELS)('tools over %s', (model) => {
  const setup = useResponsesServer()

  it('reach the provider in its own format', async () => {
    const { server, receivedRequest } = setup()
    const account = await openAccount(server)
    const { json } = await respond(server, account, { model, tools: TOOLS })
    expect(receivedRequest().tools).toEqual(DECLARED[model])
    expect(json.tools.map(({ name }: { name: string }) => name)).toEqual(TOOLS.map(({ name }) => name))
    expect(json.tools[2]).toEqual(TOOLS[2])
    expect(json.tools[3]).toEqual(TOOLS[3])
  })

  it('are the same when declared by an input item', async () => {
    const { server, receivedRequest } = setup()
    const account = await openAccount(server)
    const brought = { type: 'additional_tools', role: 'developer', tools: TOOLS }
    const input = [brought, { role: 'user', content: 'Hi' }]
    const { status, json } = await respond(server, account, { model, input })
    expect(status, JSON.stringify(json)).toBe(200)
    if (model === 'over-native') expect(receivedRequest().input).toEqual(input)
    else expect(receivedRequest().tools).toEqual(DECLARED[model])
  })

  it.each(Object.keys(ANSWERS))('keep their names: %s', async (name) => {
    const { server, description } = setup()
    const account = await openAccount(server)
    const answer = ANSWERS[name]!
    description(answer)
    const { response, events } = await streamResponse(server, account, { model, tools: TOOLS })
    const { json } = await respond(server, account, { model, tools: TOOLS })
    const calls = answer.items.flatMap((item) => ('name' in item ? [itemOfCall(item)] : []))
    const called = sayings(response.output).filter(({ type }) => type !== 'message')
    expect(called).toEqual(calls)
    expect(sayings(json.output)).toEqual(sayings(response.output))
    expect(response.status).toBe('completed')
    const ids = response.output.map((item: { call_id?: string }) => item.call_id).filter(Boolean)
    expect(new Set(ids).size).toBe(calls.length)
    for (const id of ids) expect(id).toMatch(/^call_[0-9a-z]{20,}$/)
    const types = new Set(events.map(({ type }) => type))
    const hasCustom = calls.some((call) => 'input' in call)
    expect(types.has('response.custom_tool_call_input.done')).toBe(hasCustom)
  })
})

interface Choice {
  readonly choice: unknown
  readonly sent: Readonly<Record<FarModel, unknown>>
  /** Names of the tools that are told, where those are not all. */
  readonly only?: Readonly<Partial<Record<FarModel, readonly string[]>>>
}

const same = (sent: unknown) => ({ 'over-chat': sent, 'over-plain': sent, 'over-native': sent })
const allowed = (mode: string) => ({
  type: 'allowed_tools',
  mode,
  tools: [
    { type: 'function', name: 'look_up' },
    { type: 'custom', name: 'patch' },
  ],
})

const CHOICES: Readonly<Record<string, Choice>> = {
  auto: { choice: 'auto', sent: same('auto') },
  none: { choice: 'none', sent: same('none') },
  required: { choice: 'required', sent: same('required') },
  'a function': {
    choice: { type: 'function', name: 'look_up' },
    sent: {
      ...same({ type: 'function', name: 'look_up' }),
      'over-chat': { type: 'function', function: { name: 'look_up' } },
    },
  },
  'a custom tool': {
    choice: { type: 'custom', name: 'patch' },
    sent: {
      'over-chat': { type: 'function', function: { name: 'patch' } },
      'over-plain': { type: 'function', name: 'patch' },
      'over-native': { type: 'custom', name: 'patch' },
    },
  },
  'a tool in a namespace': {
    choice: { type: 'function', name: 'wait', namespace: 'agents' },
    sent: {
      'over-chat': { type: 'function', function: { name: 'agents__wait' } },
      'over-plain': { type: 'function', name: 'agents__wait' },
      'over-native': { type: 'function', name: 'wait', namespace: 'agents' },
    },
  },
  'one of some': {
    choice: allowed('auto'),
    sent: {
      'over-chat': 'auto',
      'over-plain': {
        ...allowed('auto'),
        tools: ['look_up', 'patch'].map((name) => ({ type: 'function', name })),
      },
      'over-native': allowed('auto'),
    },
    only: { 'over-chat': ['look_up', 'patch'] },
  },
  'some one of some': {
    choice: allowed('required'),
    sent: {
      'over-chat': 'required',
      'over-plain': {
        ...allowed('required'),
        tools: ['look_up', 'patch'].map((name) => ({ type: 'function', name })),
      },
      'over-native': allowed('required'),
    },
    only: { 'over-chat': ['look_up', 'patch'] },
  },
}

const nameOf = (tool: { name?: string; function?: { name?: string } }) => tool.function?.name ?? tool.name

describe.each(FAR_MODELS)('tool_choice over %s', (model) => {
  const setup = useResponsesServer()

  it.each(Object.keys(CHOICES))('%s', async (name) => {
    const { server, receivedRequest } = setup()
    const account = await openAccount(server)
    const { choice, sent, only } = CHOICES[name]!
    const body = { model, tools: TOOLS, tool_choice: choice, parallel_tool_calls: false }
    const { status, json } = await respond(server, account, body)
    expect(status, JSON.stringify(json)).toBe(200)
    const { tools, tool_choice, parallel_tool_calls } = receivedRequest()
    expect(tool_choice).toEqual(sent[model])
    expect(parallel_tool_calls).toBe(false)
    expect((tools as object[]).map(nameOf)).toEqual(only?.[model] ?? DECLARED[model].map(nameOf))
    expect(json.tool_choice).toEqual(choice)
    expect(json.parallel_tool_calls).toBe(false)
  })
})

const HOSTED = [
  { type: 'web_search', external_web_access: false },
  { type: 'code_interpreter', container: { type: 'auto' } },
  { type: 'mcp', server_label: 'x', server_url: 'https://example.com' },
]

describe.each(FAR_MODELS)('hosted tools over %s', (model) => {
  const setup = useResponsesServer()

  it('are dropped, named, and not echoed', async () => {
    const { server, receivedRequest } = setup()
    const account = await openAccount(server)
    const { headers, json } = await respond(server, account, { model, tools: [HOSTED[0], LOOK_UP, ...HOSTED.slice(1)] })
    expect(headers.get('x-millrace-ignored-tools')).toBe('web_search, code_interpreter, mcp')
    expect((receivedRequest().tools as object[]).map(nameOf)).toEqual(['look_up'])
    expect(json.tools).toMatchObject([{ name: 'look_up' }])
    const alone = await respond(server, account, {
      model,
      tools: HOSTED,
      tool_choice: 'auto',
      parallel_tool_calls: true,
    })
    expect(alone.headers.get('x-millrace-ignored-tools')).toBe('web_search, code_interpreter, mcp')
    expect(receivedRequest()).not.toHaveProperty('tools')
    expect(receivedRequest()).not.toHaveProperty('tool_choice')
    expect(alone.json).toMatchObject({ tools: [], tool_choice: 'auto' })
  })

  it('cannot be forced', async () => {
    const { server, far } = setup()
    const account = await openAccount(server)
    const forcing = [
      { tools: HOSTED, tool_choice: { type: 'web_search' } },
      { tools: [...HOSTED, LOOK_UP], tool_choice: { type: 'mcp', server_label: 'x' } },
      { tools: HOSTED, tool_choice: 'required' },
      { tools: HOSTED, tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'web_search' }] } },
    ]
    for (const body of forcing) {
      expectProblem(await respond(server, account, { model, ...body }), 'unsupported_tool', { param: 'tool_choice' })
    }
    expect(far.providerAnswers).toEqual([])
  })
})

describe('with hosted tools disabled', () => {
  const setup = useResponsesServer({ config: 'hosted_tools: reject' })

  it('they are refused and others work', async () => {
    const { server } = setup()
    const account = await openAccount(server)
    const refused = await respond(server, account, { tools: [LOOK_UP, HOSTED[0]] })
    expectProblem(refused, 'unsupported_tool', { param: 'tools', message: /web_search/ })
    const inItem = { type: 'additional_tools', role: 'developer', tools: [HOSTED[0]] }
    const brought = await respond(server, account, { input: [inItem, { role: 'user', content: 'Hi' }] })
    expectProblem(brought, 'unsupported_tool')
    expect((await respond(server, account, { tools: TOOLS })).status).toBe(200)
  })
})
