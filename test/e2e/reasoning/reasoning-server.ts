import { afterAll, afterEach, beforeAll } from 'vitest'
import { chatAnswer } from '../../fakes/chat-answers.ts'
import { chunk } from '../../fakes/chat-frames.ts'
import { type FaultUpstream, type Script, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import { responsesAnswer } from '../../fakes/responses-answers.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { EVERY_LANE_ASKED } from '../../support/test-config.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'

/** Two providers that seal their reasoning, one that wants to see its own in words, and one of Chat that signs it and its calls. */
export type ProviderName = 'first' | 'second' | 'deep' | 'signing'

export interface ReasoningServer {
  readonly server: TestServer
  /** What a provider was asked last, as the items or messages that it got. */
  parsedOutput(name: ProviderName): readonly Record<string, unknown>[]
  /** How often it was asked in this test. */
  timesCalled(name: ProviderName): number
  /** The last seal that a provider has put on something. */
  lastSeal(name: 'first' | 'second'): string
  /** It cannot open any more what it has sealed. */
  forgetsItsSeals(name: 'first' | 'second'): void
  /** The same, and it says so in an answer that has begun well. */
  refusesInsideItsAnswer(name: 'first' | 'second'): void
  /** From now on, until it is up again, it answers with a failure. */
  isDown(name: ProviderName, down: boolean): void
}

const MODELS = {
  /** What its lane speaks the client may speak too. */
  sealing: [['first', 'mind']],
  /** Of the same provider. */
  sibling: [['first', 'other-mind']],
  elsewhere: [['second', 'mind']],
  /** Its server seals and knows nothing but functions. */
  functions: [['first-functions', 'mind']],
  deep: [['deep', 'mind']],
  signing: [['signing', 'mind']],
  moving: [
    ['first', 'mind'],
    ['second', 'mind'],
  ],
} as const

export type ReasoningModel = keyof typeof MODELS

const failing: Script = async (providerAnswer) => {
  await providerAnswer.head(503)
  await providerAnswer.bytes('{"error":{"message":"Down."}}')
  await providerAnswer.end()
}

/** Status 200, and then it turns out that it cannot open what it was given back. */
const refusingInside: Script = async (providerAnswer) => {
  const error = { code: 'invalid_encrypted_content', message: 'The encrypted content could not be verified.' }
  await providerAnswer.head()
  if (providerAnswer.delivery === 'stream') await providerAnswer.frames({ type: 'error', ...error, param: null })
  else await providerAnswer.bytes(JSON.stringify({ error }))
  await providerAnswer.end()
}

/** As OpenRouter signs reasoning in pieces, and Gemini's Chat endpoint a call. */
export const SIGNED = {
  details: [
    {
      type: 'reasoning.text',
      text: 'Let me think.',
      signature: 'signed-thought',
      format: 'anthropic-claude-v1',
      index: 0,
    },
    { type: 'reasoning.encrypted', data: 'sealed-thought', format: 'google-gemini-v1', index: 1 },
  ],
  extra: { google: { thought_signature: 'signed-call' } },
}

const signing: Script = async (providerAnswer) => {
  const messages = providerAnswer.receivedRequest.messages as readonly { readonly role: string }[]
  const send = (delta: object, finish?: string) =>
    providerAnswer.frames(chunk('mind', { delta, ...(finish === undefined ? {} : { finish }) }))
  await providerAnswer.head()
  if (messages.some(({ role }) => role === 'tool')) await send({ content: 'It says: found' }, 'stop')
  else {
    const [{ signature, ...thought }, sealed] = SIGNED.details as [Record<string, unknown>, object]
    const { type, format, index } = thought
    const id = 'theirs_1'
    const called = { index: 0, id, type: 'function', function: { name: 'look_up', arguments: '{}' } }
    await send({ reasoning_details: [{ ...thought, text: 'Let me ' }] })
    await send({ reasoning_details: [{ type, format, index, text: 'think.' }] })
    await send({
      reasoning_details: [
        { type, format, index, signature },
        { ...sealed, id },
      ],
    })
    await send({ tool_calls: [{ ...called, extra_content: SIGNED.extra }] }, 'tool_calls')
  }
  await providerAnswer.frames('[DONE]')
  await providerAnswer.end()
}

interface Provider {
  readonly upstream: FaultUpstream
  readonly seals: Map<string, string>
  isDown: boolean
  refusesInside: boolean
}

async function startProvider(scriptWith: (seals: Map<string, string>) => Script): Promise<Provider> {
  const seals = new Map<string, string>()
  const script = scriptWith(seals)
  const provider = { seals, isDown: false, refusesInside: false }
  const usual: Script = (providerAnswer) => {
    const isGivenSeals = JSON.stringify(providerAnswer.receivedRequest.input ?? []).includes('"encrypted_content"')
    return provider.refusesInside && isGivenSeals ? refusingInside(providerAnswer) : script(providerAnswer)
  }
  const upstream = await startFaultUpstream(() => (provider.isDown ? failing : usual))
  return Object.assign(provider, { upstream })
}

const lanesText = (lanes: readonly (readonly [string, string])[]): string =>
  lanes.map(([upstream, model], at) => `{ upstream: ${upstream}, model: ${model}, priority: ${at} }`).join(', ')

const modelText = (id: string, lanes: readonly (readonly [string, string])[]): string =>
  `  - { id: ${id}, efforts: [low, high], context_tokens: 128000, max_output_tokens: 8192, price: { input: "1.00", output: "2.00" }, lanes: [${lanesText(lanes)}] }\n`

function configOf(providers: Readonly<Record<ProviderName, Provider>>): string {
  const upstream = (id: string, about: string, name: ProviderName) =>
    `  - { id: ${id}, ${about}, base_url: "${providers[name].upstream.baseUrl}", allow_private: true }\n`
  return [
    EVERY_LANE_ASKED,
    'upstreams:\n',
    upstream('first', 'wire: responses, dialect: openai', 'first'),
    upstream('first-functions', 'wire: responses, dialect: xai', 'first'),
    upstream('second', 'wire: responses, dialect: openai', 'second'),
    upstream('deep', 'wire: chat, dialect: deepseek', 'deep'),
    upstream('signing', 'wire: chat, dialect: openrouter', 'signing'),
    'models:\n',
    ...Object.entries(MODELS).map(([id, lanes]) => modelText(id, lanes)),
  ].join('')
}

/** One server in front of all of them; after each test the books are closed, and every provider is up again. */
export function useReasoningServer(): () => ReasoningServer {
  let setup: ReasoningServer | undefined
  let providers: Readonly<Record<ProviderName, Provider>> | undefined
  const current = () => {
    if (!setup) throw new Error('the house has not been opened yet')
    return setup
  }
  beforeAll(async () => {
    const opened = {
      first: await startProvider((seals) => responsesAnswer('everything', { name: 'first', seals })),
      second: await startProvider((seals) => responsesAnswer('everything', { name: 'second', seals })),
      deep: await startProvider(() => chatAnswer({ wantsReasoningBack: true })),
      signing: await startProvider(() => signing),
    }
    providers = opened
    setup = {
      server: await startServer({ config: configOf(opened) }),
      parsedOutput(name) {
        const receivedRequest = opened[name].upstream.providerAnswers.at(-1)?.receivedRequest ?? {}
        return (receivedRequest.input ?? receivedRequest.messages) as Record<string, unknown>[]
      },
      timesCalled: (name) => opened[name].upstream.providerAnswers.length,
      lastSeal: (name) => [...opened[name].seals.keys()].at(-1) ?? 'none',
      forgetsItsSeals: (name) => opened[name].seals.clear(),
      refusesInsideItsAnswer(name) {
        opened[name].refusesInside = true
      },
      isDown(name, down) {
        opened[name].isDown = down
      },
    }
  })
  afterEach(async () => {
    for (const provider of Object.values(providers ?? {})) {
      provider.isDown = false
      provider.refusesInside = false
      provider.upstream.forget()
    }
    await expectBalancedLedger(current().server)
  })
  afterAll(async () => {
    await setup?.server.close()
    for (const { upstream } of Object.values(providers ?? {})) await upstream.close()
  })
  return current
}
