import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Fields, isObject } from '../../../src/lib/types.ts'
import { anthropicTalk } from '../../fakes/anthropic-answers.ts'
import { type FaultUpstream, type Script, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import { geminiTalk } from '../../fakes/gemini-answers.ts'
import { refuses } from '../../fakes/emit.ts'
import { chat } from '../../support/send-chat.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { openAccount } from '../../support/test-account.ts'
import { EVERY_LANE_ASKED } from '../../support/test-config.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'

interface Refusal {
  readonly model: string
  readonly wire: 'anthropic' | 'gemini'
  readonly says: string
  /** Where the refused field stands in a request. */
  readonly field: (asked: Fields) => unknown
  /** The next request does not have to be refused first. */
  readonly isRemembered: boolean
}

const settings = ({ generationConfig }: Fields): Fields => (isObject(generationConfig) ? generationConfig : {})

const REFUSALS: readonly Refusal[] = [
  {
    ...{ model: 'old', wire: 'anthropic', says: 'thinking: Extra inputs are not permitted', isRemembered: true },
    field: ({ thinking }) => thinking,
  },
  {
    ...{
      model: 'plain',
      wire: 'anthropic',
      says: 'This model does not support the effort parameter.',
      isRemembered: true,
    },
    field: ({ output_config }) => output_config,
  },
  {
    ...{
      model: 'own-way',
      wire: 'anthropic',
      says: 'adaptive thinking is not supported on this model',
      isRemembered: false,
    },
    field: ({ thinking }) => thinking,
  },
  {
    ...{
      model: 'levels',
      wire: 'gemini',
      says: 'Thinking level HIGH is not supported for this model.',
      isRemembered: false,
    },
    field: (asked) => settings(asked).thinkingConfig,
  },
  {
    ...{ model: 'early', wire: 'gemini', isRemembered: true },
    says: 'Invalid JSON payload received. Unknown name "thinkingLevel" at \'generation_config.thinking_config\': Cannot find field.',
    field: (asked) => settings(asked).thinkingConfig,
  },
]

const bodyOf = ({ wire, says }: Refusal): object =>
  wire === 'anthropic'
    ? { type: 'error', error: { type: 'invalid_request_error', message: says } }
    : { error: { code: 400, message: says, status: 'INVALID_ARGUMENT' } }

const scriptOf = (refusal: Refusal): Script => {
  const talks = refusal.wire === 'anthropic' ? anthropicTalk() : geminiTalk()
  return (talk) =>
    refusal.field(talk.asked) === undefined ? talks(talk) : refuses(400, bodyOf(refusal))(talk, 'before')
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

describe('an effort that a lane does not take costs the turn nothing but the effort', () => {
  it.each(REFUSALS)('$wire: $says', async ({ model, field, isRemembered }) => {
    const account = await openAccount(server)
    far.forget()
    const body = { model, reasoning_effort: 'high' }
    for (const asksBefore of [0, 2]) {
      const answer = await chat(server, account, body)
      expect([answer.status, answer.headers.get('x-millrace-ignored-fields')]).toEqual([200, 'reasoning_effort'])
      expect(answer.json.choices[0].finish_reason).toBe('stop')
      const asked = far.talks.slice(asksBefore).map((talk) => field(talk.asked) !== undefined)
      expect(asked).toEqual(asksBefore === 0 || !isRemembered ? [true, false] : [false])
    }
    expect(await account.receipts()).toHaveLength(2)
  })

  it('and an answer without one is asked for once', async () => {
    const account = await openAccount(server)
    far.forget()
    const answer = await chat(server, account, { model: 'levels' })
    expect([answer.status, answer.headers.get('x-millrace-ignored-fields'), far.talks.length]).toEqual([200, null, 1])
  })
})
