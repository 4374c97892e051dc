import { afterAll, afterEach, beforeAll } from 'vitest'
import type { ProviderAnswer } from '../../fakes/answers.ts'
import { emitsAnswer } from '../../fakes/emit-items.ts'
import { type FaultUpstream, type Script, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import type { OutputAnswer } from '../../fakes/responses-frames.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { EVERY_LANE_ASKED } from '../../support/test-config.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'

/** Models by what their one lane speaks; the demo is `swift`, and word by word `calm`. */
export const FAR_MODELS = ['over-chat', 'over-plain', 'over-native'] as const
export type FarModel = (typeof FAR_MODELS)[number]
export const MODELS = ['swift', ...FAR_MODELS] as const

/** The real house in front of one provider that speaks both protocols. */
export interface ResponsesServer {
  readonly server: TestServer
  readonly far: FaultUpstream
  /** What the provider says from now on, whichever way it is asked. */
  description(answer: OutputAnswer | Script): void
  /** What the provider was asked last. */
  receivedRequest(): Readonly<Record<string, unknown>>
}

export const HELLO: OutputAnswer = { items: [{ kind: 'message', words: ['Good ', 'morning'] }] }

const UPSTREAMS: Readonly<Record<FarModel, string>> = {
  'over-chat': 'wire: chat, dialect: generic',
  'over-plain': 'wire: responses, dialect: generic',
  'over-native': 'wire: responses, dialect: openai',
}

const model = (id: string, upstream: string, called: string, more = '') =>
  `  - { id: ${id}, context_tokens: 100000, max_output_tokens: 2000, ${more} price: { input: "1.00", cached_input: "0.25", output: "2.00" }, lanes: [{ upstream: ${upstream}, model: ${called} }] }\n`

const configFor = (baseUrl: string, { config = '', more = '' }: SetupOptions): string =>
  [
    `${EVERY_LANE_ASKED}${config}\nupstreams:\n  - { id: demo, wire: demo }\n`,
    ...FAR_MODELS.map((id) => `  - { id: ${id}, ${UPSTREAMS[id]}, base_url: "${baseUrl}", allow_private: true }\n`),
    'models:\n',
    model('swift', 'demo', 'demo-fast', more),
    model('calm', 'demo', 'demo', more),
    ...FAR_MODELS.map((id) => model(id, id, `${id}-model`, more)),
  ].join('')

interface SetupOptions {
  /** Further sections of the configuration, as YAML. */
  readonly config?: string
  /** More of every model's entry, ending in a comma. */
  readonly more?: string
}

/** A provider that waits in the middle of its answer until it is told to go on, or is cut. */
export function createPause() {
  const waiting = new Set<() => void>()
  return {
    wait: (providerAnswer: ProviderAnswer) =>
      Promise.race([providerAnswer.closed, new Promise<void>((resolve) => void waiting.add(resolve))]),
    goOn() {
      for (const resume of waiting) resume()
      waiting.clear()
    },
  }
}

export function useResponsesServer(options: SetupOptions = {}): () => ResponsesServer {
  let setup: ResponsesServer | undefined
  let script = emitsAnswer(HELLO)
  const current = () => {
    if (!setup) throw new Error('the house has not been opened yet')
    return setup
  }
  beforeAll(async () => {
    const far = await startFaultUpstream(() => (providerAnswer) => script(providerAnswer))
    const server = await startServer({ config: configFor(far.baseUrl, options) })
    setup = {
      server,
      far,
      description(answer) {
        script = typeof answer === 'function' ? answer : emitsAnswer(answer)
      },
      receivedRequest() {
        const providerAnswer = far.providerAnswers.at(-1)
        if (!providerAnswer) throw new Error('the provider was not asked')
        return providerAnswer.receivedRequest
      },
    }
  })
  afterEach(async () => {
    await expectBalancedLedger(current().server)
    current().far.forget()
    script = emitsAnswer(HELLO)
  })
  afterAll(async () => {
    await setup?.server.close()
    await setup?.far.close()
  })
  return current
}
