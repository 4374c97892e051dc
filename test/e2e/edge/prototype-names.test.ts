import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { emitsAnswer } from '../../fakes/emit-items.ts'
import { type FaultUpstream, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import { answerOf, send } from '../../support/send-chat.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { openAccount } from '../../support/test-account.ts'

const NAMES = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'] as const
const WIRES = ['chat', 'responses'] as const

const configOf = ({ baseUrl }: FaultUpstream) => `upstreams:
${WIRES.map((wire) => `  - { id: ${wire}, wire: ${wire}, base_url: "${baseUrl}", allow_private: true }`).join('\n')}
models:
${WIRES.map((wire) => `  - { id: over-${wire}, pass_fields: [passed], context_tokens: 100000, max_output_tokens: 2000, price: { input: "1.00", output: "2.00" }, lanes: [{ upstream: ${wire}, model: far }] }`).join('\n')}
`

/** An object with each name as a field, in which the same would make every object `polluted`. */
const HOSTILE = `{${NAMES.map((name) => `"${name}":{"polluted":true,"prototype":{"polluted":true}}`).join(',')}}`
const FIELDS = HOSTILE.slice(1, -1)
const SCHEMA = `{"type":"object","properties":${HOSTILE},"required":${JSON.stringify(NAMES)},${FIELDS}}`
const PATHS = ['/chat/completions', '/responses'] as const

/** The places of a request that may hold an object, each with the names in it: as JSON, because no literal says `__proto__`. */
const PLACES: Readonly<Record<(typeof PATHS)[number], Readonly<Record<string, string>>>> = {
  '/chat/completions': {
    'the request': FIELDS,
    metadata: `"metadata":${HOSTILE}`,
    'a field that is passed': `"passed":${HOSTILE}`,
    logit_bias: `"logit_bias":${HOSTILE}`,
    stream_options: `"stream_options":${HOSTILE}`,
    reasoning: `"reasoning":${HOSTILE}`,
    'a message': `"messages":[{"role":"user","content":"Hi",${FIELDS}}]`,
    'a part': `"messages":[{"role":"user","content":[{"type":"text","text":"Hi",${FIELDS}}]}]`,
    'a tool': `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"},${FIELDS}},${FIELDS}}]`,
    'the schema of a tool': `"tools":[{"type":"function","function":{"name":"f","parameters":${SCHEMA}}}]`,
    'a choice of tool': `"tools":[{"type":"function","function":{"name":"constructor"}}],"tool_choice":{"type":"function","function":{"name":"constructor"},${FIELDS}}`,
    'the names of tools': `"tools":[${NAMES.map((name) => `{"type":"function","function":{"name":"${name}"}}`).join(',')}]`,
    'a format': `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":${SCHEMA}},${FIELDS}}`,
  },
  '/responses': {
    'the request': FIELDS,
    metadata: `"metadata":{"__proto__":"x","constructor":"y","prototype":"z"}`,
    'a field that is passed': `"passed":${HOSTILE}`,
    text: `"text":{"format":{"type":"json_schema","name":"n","schema":${SCHEMA}},${FIELDS}}`,
    reasoning: `"reasoning":${HOSTILE}`,
    'an item': `"input":[{"type":"message","role":"user","content":"Hi",${FIELDS}}]`,
    'a part': `"input":[{"role":"user","content":[{"type":"input_text","text":"Hi",${FIELDS}}]}]`,
    'the type of an item': `"input":[{"type":"__proto__"},{"type":"constructor"},{"role":"user","content":"Hi"}]`,
    'a tool': `"tools":[{"type":"function","name":"f","parameters":{"type":"object"},${FIELDS}}]`,
    'the schema of a tool': `"tools":[{"type":"function","name":"f","parameters":${SCHEMA}}]`,
    'the names of tools': `"tools":[${NAMES.map((name) => `{"type":"function","name":"${name}"}`).join(',')}]`,
  },
}

const NEEDED = {
  '/chat/completions': ['messages', `"messages":[{"role":"user","content":"Hi"}]`],
  '/responses': ['input', `"input":"Hi"`],
} as const

/** What every object has: the same before and after. */
const nature = () =>
  [Object.prototype, Array.prototype, Function.prototype, String.prototype].map((each) =>
    Reflect.ownKeys(each).map((name) => [name, Object.getOwnPropertyDescriptor(each, name)]),
  )

describe('prototype names (__proto__, constructor, ...)', () => {
  let far: FaultUpstream
  let server: TestServer
  const before = nature()
  beforeAll(async () => {
    const description = emitsAnswer({ items: [{ kind: 'message', words: ['Good'] }] })
    far = await startFaultUpstream(() => description)
    server = await startServer({ config: configOf(far) })
  })
  afterEach(() => expect(nature()).toEqual(before))
  afterAll(async () => {
    await server?.close()
    await far?.close()
  })

  const cases = PATHS.flatMap((path) =>
    Object.entries(PLACES[path]).flatMap(([place, json]) => WIRES.map((wire) => [path, place, wire, json] as const)),
  )
  it.each(cases)('%s: in %s they are ordinary names, over %s', async (path, _place, wire, json) => {
    const account = await openAccount(server)
    const [needed, greeting] = NEEDED[path]
    const body = `{"model":"over-${wire}",${json.includes(`"${needed}":`) ? '' : `${greeting},`}${json}}`
    far.forget()
    const { status, json: emitted } = await answerOf(await send(server, account, body, { path }))
    expect([200, 400]).toContain(status)
    if (status === 400)
      expect(emitted.error.code).toMatch(/^(unsupported_parameter|invalid_type|invalid_value|unsupported_content)$/)
    expect(Object.hasOwn(emitted, 'polluted')).toBe(false)
    expect(far.providerAnswers).toHaveLength(status === 200 ? 1 : 0)
  })

  it.each([
    ['/chat/completions', 'chat', (receivedRequest: Body) => receivedRequest.tools[0].function.parameters],
    ['/chat/completions', 'responses', (receivedRequest: Body) => receivedRequest.tools[0].parameters],
    ['/responses', 'responses', (receivedRequest: Body) => receivedRequest.tools[0].parameters],
    ['/responses', 'chat', (receivedRequest: Body) => receivedRequest.tools[0].function.parameters],
  ] as const)('%s over %s: a schema keeps all of them as data', async (path, wire, schemaOf) => {
    const account = await openAccount(server)
    far.forget()
    const body = `{"model":"over-${wire}",${NEEDED[path][1]},${PLACES[path]['the schema of a tool']}}`
    expect((await send(server, account, body, { path })).status).toBe(200)
    const arrived = schemaOf(far.providerAnswers[0]?.receivedRequest as Body)
    expect(JSON.stringify(arrived)).toBe(SCHEMA)
  })

  it('a passed-through field keeps its bytes', async () => {
    const account = await openAccount(server)
    far.forget()
    const body = `{"model":"over-chat",${NEEDED['/chat/completions'][1]},"passed":${HOSTILE}}`
    expect((await send(server, account, body)).status).toBe(200)
    expect(JSON.stringify(far.providerAnswers[0]?.receivedRequest.passed)).toBe(HOSTILE)
  })
})

// biome-ignore lint/suspicious/noExplicitAny: what a provider was asked is judged by what the test expects of it
type Body = any
