import { afterAll, afterEach, beforeAll } from 'vitest'
import { anthropicAnswer } from '../fakes/anthropic-answers.ts'
import { chatAnswer } from '../fakes/chat-answers.ts'
import { type FaultUpstream, type Script, startFaultUpstream } from '../fakes/fault-upstream.ts'
import { geminiAnswer } from '../fakes/gemini-answers.ts'
import { responsesAnswer } from '../fakes/responses-answers.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { EVERY_LANE_ASKED } from '../support/test-config.ts'
import { expectBalancedLedger } from '../support/use-server.ts'

/** What a client may have behind a model, without being told. */
export interface LaneCase {
  readonly lane: string
  /** The model that does as it is told. */
  readonly model: string
  /** One that is cancelled, because it has not said everything when it is. */
  readonly endless: string
  /** Whether it goes on calling tools after the result of one: the demo ends every loop. */
  readonly callsAgain: boolean
  /** Whether its reasoning comes sealed for who carries it himself. */
  readonly seals: boolean
  /** Whether it makes conversations short itself, so that they can only go on with it. */
  readonly compactsItself: boolean
  /** Whether it says what it was told before, when it is asked to recall it: the demo has no memory. */
  readonly recalls: boolean
}

interface FarLane extends LaneCase {
  readonly wire: string
  readonly dialect: string
  readonly script: () => Script
}

const farLane = (
  lane: string,
  id: string,
  over: Pick<FarLane, 'wire' | 'dialect' | 'script'> & Partial<FarLane>,
): FarLane => ({
  lane,
  model: id,
  endless: `${id}-sleeps`,
  callsAgain: true,
  seals: false,
  compactsItself: false,
  recalls: true,
  ...over,
})

const FAR_LANES: readonly FarLane[] = [
  farLane('a chat lane', 'talker', { wire: 'chat', dialect: 'generic', script: chatAnswer }),
  farLane('a responses lane', 'thinker', {
    ...{ wire: 'responses', dialect: 'openai', seals: true, compactsItself: true },
    script: () => responsesAnswer('everything'),
  }),
  farLane('a responses lane that knows functions alone', 'simple', {
    ...{ wire: 'responses', dialect: 'generic' },
    script: () => responsesAnswer('functions'),
  }),
  farLane('an anthropic lane', 'scribe', {
    ...{ wire: 'anthropic', dialect: 'anthropic', seals: true },
    script: anthropicAnswer,
  }),
  farLane('a gemini lane', 'twin', { ...{ wire: 'gemini', dialect: 'google', seals: true }, script: geminiAnswer }),
]

const DEMO: LaneCase = {
  lane: 'the demo',
  model: 'demo',
  endless: 'calm',
  callsAgain: false,
  seals: false,
  compactsItself: false,
  recalls: false,
}

export const LANES: readonly LaneCase[] = [...FAR_LANES, DEMO]

/** What goes wrong in the middle of an answer, on every lane that can. */
export const BROKEN_LANES = FAR_LANES.flatMap(({ lane, model }) =>
  ['breaks', 'resets'].map((how) => ({ lane, how, model: `${model}-${how}` })),
)

export interface LaneSetup extends TestServer {
  /** What the provider behind a model has been asked, oldest first; nothing of the demo. */
  receivedRequest(model: string): readonly Readonly<Record<string, unknown>>[]
}

/** One server in front of every kind of lane for the tests of a file; after each of them the books are closed. */
export function useLanes(more = ''): () => LaneSetup {
  let setup: LaneSetup | undefined
  const providers = new Map<string, FaultUpstream>()
  const current = () => {
    if (!setup) throw new Error('the server has not been started yet')
    return setup
  }
  beforeAll(async () => {
    for (const { model, script } of FAR_LANES) {
      const play = script()
      providers.set(model, await startFaultUpstream(() => play))
    }
    const server = await startServer({ config: configOf(providers) + more })
    const receivedRequest = (model: string) =>
      (providers.get(model)?.providerAnswers ?? []).map((providerAnswer) => providerAnswer.receivedRequest)
    setup = Object.assign(server, { receivedRequest })
  })
  afterEach(() => expectBalancedLedger(current()))
  afterAll(async () => {
    await setup?.close()
    for (const provider of providers.values()) await provider.close()
  })
  return current
}

function configOf(providers: ReadonlyMap<string, FaultUpstream>): string {
  const upstreams = FAR_LANES.map(({ model, wire, dialect }) => {
    const about = `wire: ${wire}, dialect: ${dialect}, allow_private: true, base_url: "${providers.get(model)?.baseUrl}"`
    return `  - { id: ${model}, ${about} }\n`
  })
  const far = FAR_LANES.flatMap(({ model }) => [
    modelText(model, model, 'whole'),
    ...['sleeps', 'breaks', 'resets'].map((how) => modelText(`${model}-${how}`, model, how)),
  ])
  const near = [modelText('demo', 'demo', 'demo-fast'), modelText('calm', 'demo', 'demo')]
  return `${EVERY_LANE_ASKED}upstreams:\n  - { id: demo, wire: demo }\n${upstreams.join('')}models:\n${[...far, ...near].join('')}`
}

// After a disconnect the gateway reads on from a model that may reason unseen. One to be cut at once has no efforts.
const modelText = (id: string, upstream: string, model: string): string => `  - id: ${id}
    efforts: [${model === 'sleeps' ? '' : 'low, high'}]
    context_tokens: 128000
    max_output_tokens: 8192
    price: { input: "1.00", output: "2.00" }
    lanes: [{ upstream: ${upstream}, model: ${model} }]
`
