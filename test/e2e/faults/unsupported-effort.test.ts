import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Fields, isObject } from '../../../src/lib/types.ts'
import { anthropicAnswer } from '../../fakes/anthropic-answers.ts'
import { refuses } from '../../fakes/emit.ts'
import { type FaultUpstream, type Script, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import { geminiAnswer } from '../../fakes/gemini-answers.ts'
import { chat } from '../../support/send-chat.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { openAccount } from '../../support/test-account.ts'
import { EVERY_LANE_ASKED } from '../../support/test-config.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'

interface Refusal {
  readonly model: string
  readonly wire: 'anthropic' | 'gemini'
  readonly description: string
  /** Where the refused field stands in a request. */
  readonly field: (receivedRequest: Fields) => unknown
  /** The next request does not have to be refused first. */
  readonly isRemembered: boolean
}

const settings = ({ generationConfig }: Fields): Fields => (isObject(generationConfig) ? generationConfig : {})

const REFUSALS: readonly Refusal[] = [
  {
    ...{ model: 'old', wire: 'anthropic', description: 'thinking: Extra inputs are not permitted', isRemembered: true },
    field: ({ thinking }) => thinking,
  },
  {
    ...{
      model: 'plain',
      wire: 'anthropic',
      description: 'This model does not support the effort parameter.',
      isRemembered: true,
    },
    field: ({ output_config }) => output_config,
  },
  {
    ...{
      model: 'own-way',
      wire: 'anthropic',
      description: 'adaptive thinking is not supported on this model',
      isRemembered: false,
    },
    field: ({ thinking }) => thinking,
  },
  {
    ...{
      model: 'levels',
      wire: 'gemini',
      description: 'Thinking level HIGH is not supported for this model.',
      isRemembered: false,
    },
    field: (receivedRequest) => settings(receivedRequest).thinkingConfig,
  },
  {
    ...{ model: 'early', wire: 'gemini', isRemembered: true },
    description:
      'Invalid JSON payload received. Unknown name "thinkingLevel" at \'generation_config.thinking_config\': Cannot find field.',
    field: (receivedRequest) => settings(receivedRequest).thinkingConfig,
  },
]

const bodyOf = ({ wire, description }: Refusal): object =>
  wire === 'anthropic'
    ? { type: 'error', error: { type: 'invalid_request_error', message: description } }
    : { error: { code: 400, message: description, status: 'INVALID_ARGUMENT' } }

const scriptOf = (refusal: Refusal): Script => {
  const providerAnswers = refusal.wire === 'anthropic' ? anthropicAnswer() : geminiAnswer()
  return (providerAnswer) =>
    refusal.field(providerAnswer.receivedRequest) === undefined
      ? providerAnswers(providerAnswer)
      : refuses(400, bodyOf(refusal))(providerAnswer, 'before')
}

const configOf = ({ baseUrl }: FaultUpstream) => `${EVERY_LANE_ASKED}upstreams:
  - { id: anthropic, wire: anthropic, base_url: "${baseUrl}", allow_private: true }
  - { id: gemini, wire: gemini, base_url: "${baseUrl}", allow_private: true }
models:
${REFUSALS.map(
  ({ model, wire }) => `  - id: ${model}
    efforts: [low, high]
    context_tokens: 100000
    max_output_tokens: 20000
    price: { input: "1.00", output: "2.00" }
    lanes: [{ upstream: ${wire}, model: ${model}, traits: { efforts: { low: low, high: high } } }]`,
).join('\n')}
`

let far: FaultUpstream
let server: TestServer
beforeAll(async () => {
  const scripts = new Map(REFUSALS.map((refusal) => [refusal.model, scriptOf(refusal)]))
  far = await startFaultUpstream((model) => scripts.get(model))
  server = await startServer({ config: configOf(far) })
})
afterEach(() => expectBalancedLedger(server))
afterAll(async () => {
  await server.close()
  await far.close()
})

describe('an unsupported effort is dropped and costs nothing', () => {
  it.each(REFUSALS)('$wire: $description', async ({ model, field, isRemembered }) => {
    const account = await openAccount(server)
    far.forget()
    const body = { model, reasoning_effort: 'high' }
    for (const asksBefore of [0, 2]) {
      const answer = await chat(server, account, body)
      expect([answer.status, answer.headers.get('x-millrace-ignored-fields')]).toEqual([200, 'reasoning_effort'])
      expect(answer.json.choices[0].finish_reason).toBe('stop')
      const receivedRequest = far.providerAnswers
        .slice(asksBefore)
        .map((providerAnswer) => field(providerAnswer.receivedRequest) !== undefined)
      expect(receivedRequest).toEqual(asksBefore === 0 || !isRemembered ? [true, false] : [false])
    }
    expect(await account.receipts()).toHaveLength(2)
  })

  it('the retry without it happens once', async () => {
    const account = await openAccount(server)
    far.forget()
    const answer = await chat(server, account, { model: 'levels' })
    expect([answer.status, answer.headers.get('x-millrace-ignored-fields'), far.providerAnswers.length]).toEqual([
      200,
      null,
      1,
    ])
  })
})
