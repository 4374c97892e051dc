import { describe, expect, it } from 'vitest'
import type { Script } from '../../fakes/fault-upstream.ts'
import { expectProblem } from '../../support/expect-problem.ts'
import { eventsOf } from '../../support/responses-grammar.ts'
import { type Answer, answerOf, get } from '../../support/send-chat.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { EVERY_LANE_ASKED } from '../../support/test-config.ts'
import { until } from '../../support/until.ts'
import type { Wire } from '../endings/provider-frames.ts'
import { playSteps, type Step, WHOLE } from '../endings/provider-steps.ts'
import { boundOf, modelLine, priced, upstreamLine, useScriptedUpstream } from './scripted-server.ts'

const MODEL_CAP = 2000
const REPORTED = priced({ input: 7, cached: 4, output: 7 })
const HUGE = { prompt_tokens: 9e15, completion_tokens: 1e300 }
const ZERO = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }

/** As a stream and as JSON, by what is asked for. */
const SCRIPTS: Readonly<Record<string, { readonly stream: readonly Step[]; readonly json: readonly Step[] }>> = {
  good: WHOLE,
  huge: reported(HUGE),
  zero: reported(ZERO),
  full: { stream: [{ status: 503 }], json: [{ status: 503 }] },
  broken: { stream: ['head', 'role', 'reset'], json: ['head', 'half', 'reset'] },
  cut: { stream: ['head', 'role', 'word', 'word', 'reset'], json: ['head', 'half', 'reset'] },
}

function reported(usage: object): { readonly stream: readonly Step[]; readonly json: readonly Step[] } {
  return {
    stream: ['head', 'role', 'word', 'word', 'word', 'word', 'stop', { usage }, 'done'],
    json: ['head', { usage }, 'half', 'rest'],
  }
}

const WIRES: readonly Wire[] = ['chat', 'responses']
const laneName = (wire: Wire, name: string) => `${wire}-${name}`

function scriptOf(model: string): Script | undefined {
  const [wire, name = ''] = model.split('-') as [Wire, string]
  const script = SCRIPTS[name]
  return (
    script &&
    ((providerAnswer) =>
      playSteps(providerAnswer, { wire, steps: script[providerAnswer.delivery], wait: async () => {} }))
  )
}

const setup = useScriptedUpstream(scriptOf, (baseUrl) => {
  const chat = upstreamLine(baseUrl, 'chat')
  const responses = upstreamLine(baseUrl, 'responses', 'dialect: generic').replace('wire: chat', 'wire: responses')
  const models = WIRES.flatMap((wire) =>
    Object.keys(SCRIPTS).map((name) => modelLine(laneName(wire, name), [laneName(wire, name)], { upstream: wire })),
  )
  return `${EVERY_LANE_ASKED}upstreams:\n${chat}${responses}models:\n${models.join('')}`
})

async function post(who: { readonly key: string }, body: object, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(`${setup().server.baseUrl}/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${who.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return { response, text: await response.clone().text() }
}

const bodyOf = (model: string, stream: boolean) => ({ model, stream, input: 'Say good morning.' })

/** The response as its client has it in the end. */
const lastOf = (text: string, stream: boolean) =>
  // biome-ignore lint/suspicious/noExplicitAny: judged by what the test expects of it
  (stream ? eventsOf(text).at(-1)?.response : JSON.parse(text)) as any

const receiptsOf = (account: TestAccount) =>
  until(async () => {
    const rows = await account.receipts()
    return rows.every(({ state }) => state !== 'open') && rows
  })

const CELLS = WIRES.flatMap((wire) => [true, false].map((stream) => ({ wire, stream })))

describe.each(CELLS)('Responses over a lane of wire $wire, stream: $stream', ({ wire, stream }) => {
  const sendTurn = async (name: string) => {
    const account = await openAccount(setup().server)
    const body = bodyOf(laneName(wire, name), stream)
    const { response, text } = await post(account, body)
    return { account, body, response, text }
  }

  it('A16, A21: stream and JSON cost the same, and the answer states the cost', async () => {
    const { account, response, text } = await sendTurn('good')
    const { usage } = lastOf(text, stream)
    const { json } = await get(setup().server, account, `/requests/${response.headers.get('x-request-id')}`)
    expect(usage).toMatchObject({ input_tokens: 11, output_tokens: 7, input_tokens_details: { cached_tokens: 4 } })
    expect(usage.millrace).toEqual({
      ...{ charge: json.charge, currency: 'USD', tier: 0 },
      price_version: json.price_version,
    })
    expect(await receiptsOf(account)).toMatchObject([{ state: 'settled', charge_nano: REPORTED }])
  })

  it('A6, A15: impossible usage is clamped and flagged; zero is valid', async () => {
    const huge = await sendTurn('huge')
    const most = priced({ input: boundOf(huge.body), output: MODEL_CAP })
    expect(await receiptsOf(huge.account)).toMatchObject([{ charge_nano: most, estimated: 1 }])
    const zero = await sendTurn('zero')
    expect(await receiptsOf(zero.account)).toMatchObject([{ charge_nano: 0n, estimated: 0 }])
  })

  it('A11: no output, no charge', async () => {
    for (const name of ['full', 'broken']) {
      const { account, response } = await sendTurn(name)
      expectUpstreamRefusal(await answerOf(response))
      expect(await receiptsOf(account)).toMatchObject([{ state: 'released', charge_nano: 0n }])
    }
  })

  it('A17: a broken stream is charged for its part, and says so in the stream and on the receipt', async () => {
    const { account, text, response } = await sendTurn('cut')
    const [receipt] = await receiptsOf(account)
    if (!stream) {
      expect([response.status, receipt?.charge_nano]).toEqual([503, 0n])
      return
    }
    const last = lastOf(text, stream)
    expect(last).toMatchObject({ status: 'failed', error: { code: 'upstream_error' } })
    expect(receipt).toMatchObject({ state: 'settled', outcome: 'upstream_failed', estimated: 1 })
    expect(receipt?.charge_nano).toBeGreaterThan(0n)
    const { json } = await get(setup().server, account, `/responses/${last.id}`)
    expect([json.status, json.output[0].content[0].text]).toEqual(['failed', 'Good morning'])
  })

  it('A31, A32: a retry with the key is replayed and charged once; another body is an error', async () => {
    const account = await openAccount(setup().server)
    const headers = { 'idempotency-key': 'once' }
    const body = bodyOf(laneName(wire, 'good'), stream)
    const first = await post(account, body, headers)
    for (let retry = 0; retry < 3; retry++) {
      const again = await post(account, body, headers)
      expect([again.response.headers.get('idempotency-replayed'), again.text]).toEqual(['true', first.text])
    }
    const other = await post(account, { ...body, input: 'Something else.' }, headers)
    expectProblem(await answerOf(other.response), 'idempotency_key_reused')
    expect(setup().far.providerAnswers).toHaveLength(1)
    expect(await receiptsOf(account)).toMatchObject([{ charge_nano: REPORTED }])
    const { id } = lastOf(first.text, stream)
    expect((await get(setup().server, account, `/responses/${id}`)).json.status).toBe('completed')
  })
})

function expectUpstreamRefusal({ status, json }: Answer): void {
  expect([status, json.error.source]).toEqual([503, 'upstream'])
}
