import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { anthropicAnswer } from '../../fakes/anthropic-answers.ts'
import { chatAnswer } from '../../fakes/chat-answers.ts'
import { type FaultUpstream, type Script, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import { geminiAnswer } from '../../fakes/gemini-answers.ts'
import { noting } from '../../fakes/noting.ts'
import type { ModelState } from '../../fakes/polite-model.ts'
import { responsesAnswer } from '../../fakes/responses-answers.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { EVERY_LANE_ASKED } from '../../support/test-config.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { scriptedAnswers } from './scripted-answers.ts'

export const WIRES = ['chat', 'responses', 'anthropic', 'gemini'] as const
export type Wire = (typeof WIRES)[number]

/** Providers of every wire, all strict; a second one of each, and two that think behind closed doors. */
const PROVIDERS = {
  ...{ chat: 'chat', responses: 'responses', anthropic: 'anthropic', gemini: 'gemini' },
  ...{ 'chat-2': 'chat', 'responses-2': 'responses', 'anthropic-2': 'anthropic', 'gemini-2': 'gemini' },
  ...{ 'anthropic-partly': 'anthropic', 'anthropic-closed': 'anthropic', deep: 'chat', 'deep-2': 'chat' },
} as const satisfies Record<string, Wire>
export type ProviderName = keyof typeof PROVIDERS
const NAMES = Object.keys(PROVIDERS) as readonly ProviderName[]

export type Received = Readonly<Record<string, unknown>>

export interface WiresServer {
  readonly server: TestServer
  /** What a provider was asked in this test, oldest first. */
  receivedRequest(name: ProviderName): readonly Received[]
  /** What providers would not take, which a gateway might cure without a word: there shall be none. */
  takeRefused(): string[]
  /** It cannot open any more what it has sealed or signed. */
  forgets(name: ProviderName): void
  /** From now on, until the end of the test, it answers with a failure. */
  isDown(name: ProviderName, down: boolean): void
}

export interface Provider {
  readonly upstream: FaultUpstream
  readonly signed: Map<string, unknown>[]
  readonly refused: string[]
  isDown: boolean
}

const failing: Script = async (providerAnswer) => {
  await providerAnswer.head(503)
  await providerAnswer.bytes('{"error":{"message":"Down."}}')
  await providerAnswer.end()
}

/** One that knows nothing of what it has signed for another credential. */
function scriptOf(name: ProviderName, modelState: ModelState, signed: Map<string, unknown>[]): Script {
  const signatures = new Map()
  signed.push(signatures)
  const signer = { name: `${name}-${signed.length}`, modelState, signatures }
  switch (name) {
    case 'responses':
    case 'responses-2':
      return responsesAnswer('everything', { ...signer, seals: signatures })
    case 'anthropic':
    case 'anthropic-2':
      return anthropicAnswer(signer)
    case 'anthropic-partly':
      return anthropicAnswer({ ...signer, thinks: 'partly-redacted' })
    case 'anthropic-closed':
      return anthropicAnswer({ ...signer, thinks: 'redacted' })
    case 'gemini':
    case 'gemini-2':
      return geminiAnswer(signer)
    default:
      return chatAnswer({ modelState, wantsReasoningBack: name.startsWith('deep') })
  }
}

const CREDENTIALS = ['authorization', 'x-api-key', 'x-goog-api-key']

export async function startProvider(name: ProviderName, modelState: ModelState): Promise<Provider> {
  const scripts = new Map<string, Script>()
  const provider = { signed: [] as Map<string, unknown>[], refused: [] as string[], isDown: false }
  const upstream = await startFaultUpstream(() => async (providerAnswer) => {
    if (provider.isDown) return failing(providerAnswer)
    const key = CREDENTIALS.map((header) => providerAnswer.receivedHeaders.get(header) ?? '').join(' ')
    const script = scripts.get(key) ?? scriptOf(name, modelState, provider.signed)
    scripts.set(key, script)
    await script(noting(providerAnswer, provider.refused))
  })
  return Object.assign(provider, { upstream })
}

const DIALECTS: Readonly<Record<Wire, string>> = {
  chat: 'generic',
  responses: 'openai',
  anthropic: 'anthropic',
  gemini: 'google',
}

export const dialectOf = (name: string, wire: Wire): string => (name.startsWith('deep') ? 'deepseek' : DIALECTS[wire])

/** Of a token: no whole nano-dollars come of it, so rounding shows. */
export const PICO = { input: 300_001n, cachedInput: 75_003n, cacheWrite: 375_007n, output: 1_200_007n }
const PRICE = '{ input: "0.300001", cached_input: "0.075003", cache_write: "0.375007", output: "1.200007" }'

const laneText = (upstream: string, more = ''): string => `upstream: ${upstream}, model: mind${more}`

/** One model for everything that a lane may be exchanged for. */
function modelsText(): string {
  const model = (id: string, ...lanes: readonly string[]) =>
    `  - { id: ${id}, efforts: [none, low, high], context_tokens: 128000, max_output_tokens: 8192, price: ${PRICE}, lanes: [${lanes
      .map((lane, at) => `{ ${lane}, priority: ${at} }`)
      .join(', ')}] }\n`
  return [
    ...NAMES.map((name) => model(name, laneText(name))),
    ...WIRES.map((wire) => model(`${wire}-sibling`, `upstream: ${wire}, model: other-mind`)),
    ...WIRES.map((wire) => model(`${wire}-other-key`, laneText(`${wire}-other-key`))),
    ...WIRES.flatMap((one) =>
      WIRES.map((other) => model(`${one}-then-${other}`, laneText(one), laneText(`${other}-2`))),
    ),
    model('anthropic-budget', laneText('anthropic', BUDGETS)),
    model('gemini-budget', laneText('gemini', BUDGETS)),
    model('anthropic-2-budget', laneText('anthropic-2', BUDGETS)),
  ].join('')
}

const BUDGETS = ', traits: { efforts: { none: disabled, low: 2000, high: 4000 } }'

function configOf(providers: Readonly<Record<ProviderName, Provider>>): string {
  const upstream = (id: string, name: ProviderName, key: string) => {
    const wire = PROVIDERS[name]
    const about = `wire: ${wire}, dialect: ${dialectOf(name, wire)}, api_key: "${key}"`
    return `  - { id: ${id}, ${about}, base_url: "${providers[name].upstream.baseUrl}", allow_private: true }\n`
  }
  return [
    EVERY_LANE_ASKED,
    'upstreams:\n',
    ...NAMES.map((name) => upstream(name, name, `a-key-of-${name}`)),
    ...WIRES.map((wire) => upstream(`${wire}-other-key`, wire, `another-key-of-${wire}`)),
    'models:\n',
    modelsText(),
  ].join('')
}

interface SetupRequest {
  /** What providers count. */
  readonly counting?: ModelState['countsOf']
  /** More of them, as text of the configuration. */
  readonly models?: string
}

/** A dozen sockets, a database and a server, on a machine that may be busy. */
const OPENING_MS = 60_000

/** One server in front of all of them. After each test the books are closed, and no provider has refused anything. */
export function useWiresServer({ counting, models = '' }: SetupRequest = {}): () => WiresServer {
  let setup: WiresServer | undefined
  let providers: Readonly<Record<ProviderName, Provider>> | undefined
  const all = () => Object.values(providers ?? {})
  const current = () => {
    if (!setup) throw new Error('the house has not been opened yet')
    return setup
  }
  beforeAll(async () => {
    const started = NAMES.map(async (name) => [name, await startProvider(name, scriptedAnswers(counting))] as const)
    const opened = Object.fromEntries(await Promise.all(started)) as Record<ProviderName, Provider>
    providers = opened
    setup = {
      server: await startServer({ config: configOf(opened) + models }),
      receivedRequest: (name) => opened[name].upstream.providerAnswers.map(({ receivedRequest }) => receivedRequest),
      takeRefused: () => all().flatMap(({ refused }) => refused.splice(0)),
      forgets(name) {
        for (const signatures of opened[name].signed) signatures.clear()
      },
      isDown(name, down) {
        opened[name].isDown = down
      },
    }
  }, OPENING_MS)
  afterEach(async () => {
    for (const provider of all()) {
      provider.isDown = false
      provider.upstream.forget()
    }
    expect(current().takeRefused(), 'what providers have refused').toEqual([])
    await expectBalancedLedger(current().server)
  })
  afterAll(async () => {
    await setup?.server.close()
    for (const { upstream } of all()) await upstream.close()
  })
  return current
}
