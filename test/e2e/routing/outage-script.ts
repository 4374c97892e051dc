import { errorBody } from '../../fakes/chat-frames.ts'
import { type FaultUpstream, type Script, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import { FAULTS } from '../../fakes/faults.ts'
import { hello, send } from '../../support/send-chat.ts'
import { type StartOptions, startServer, type TestServer } from '../../support/start-server.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'

/** What the configuration says of failing lanes in these scripts, and of the time that a silent one has. */
export const FIRST_S = 10
export const LONGEST_S = 80
const FIRST_BYTE_MS = 1000

/** A 429 that says when to come back. */
export const RETRY_AFTER_S = 20

const throttled: Script = async (providerAnswer) => {
  await providerAnswer.head(429, { 'retry-after': String(RETRY_AFTER_S) })
  await providerAnswer.bytes(JSON.stringify(errorBody('Slow down.')))
  await providerAnswer.end()
}

const overloadedInside: Script = async (providerAnswer) => {
  await providerAnswer.head()
  await providerAnswer.frames({
    error: { message: 'The engine is overloaded.', type: 'server_error', code: 'overloaded_error' },
  })
  await providerAnswer.end()
}

/** What a provider does instead of answering. */
export const OUTAGES = {
  dead: (providerAnswer) => FAULTS.reset(providerAnswer, 'before'),
  // Not one byte, until the deadline cuts the connection.
  slow: async () => {},
  throttling: throttled,
  'overloaded inside the stream': overloadedInside,
  failing: (providerAnswer) => FAULTS['refused-500'](providerAnswer, 'before'),
  'locking us out': async (providerAnswer) => {
    await providerAnswer.head(401)
    await providerAnswer.bytes(JSON.stringify(errorBody('Incorrect API key provided.')))
    await providerAnswer.end()
  },
} as const satisfies Record<string, Script>
export type Outage = keyof typeof OUTAGES

export interface OutageSetup {
  readonly server: TestServer
  readonly account: TestAccount
  /** From now on; undefined: it answers. */
  is(lane: 'first' | 'second', outage: Outage | undefined): void
  receivedRequest(lane: 'first' | 'second'): number
  close(): Promise<void>
}

/** Two providers, of which the second is asked when the first cannot be; and a model that has the first one only. */
export async function openOutageSetup(options: Pick<StartOptions, 'clock'> = {}): Promise<OutageSetup> {
  const state: Record<string, Outage | undefined> = {}
  const providers: Record<string, FaultUpstream> = {}
  for (const lane of ['first', 'second'])
    providers[lane] = await startFaultUpstream(() => (providerAnswer) => {
      const outage = state[lane]
      return outage ? OUTAGES[outage](providerAnswer) : FAULTS.healthy(providerAnswer)
    })
  const upstream = (id: string) =>
    `  - { id: ${id}, wire: chat, base_url: "${providers[id]?.baseUrl}", allow_private: true, api_key: "of-${id}", timeouts: { first_byte: ${FIRST_BYTE_MS}ms } }\n`
  const lane = (id: string, priority: number) => `{ upstream: ${id}, model: m, priority: ${priority} }`
  const model = (id: string, lanes: string) =>
    `  - { id: ${id}, context_tokens: 100000, max_output_tokens: 2000, price: { input: "1.00", output: "2.00" }, lanes: [${lanes}] }\n`
  const server = await startServer({
    ...options,
    config: [
      `routing: { aside_first: ${FIRST_S}s, aside_longest: ${LONGEST_S}s, patience: 0s }\n`,
      'upstreams:\n',
      upstream('first') + upstream('second'),
      'models:\n',
      model('both', `${lane('first', 1)}, ${lane('second', 2)}`) + model('lone', lane('first', 1)),
    ].join(''),
  })
  return {
    server,
    account: await openAccount(server, { credit: '1000.00' }),
    is: (id, outage) => {
      state[id] = outage
    },
    receivedRequest: (id) => providers[id]?.providerAnswers.length ?? 0,
    async close() {
      await server.close()
      for (const provider of Object.values(providers)) await provider.close()
    },
  }
}

/** One virtual second: which lanes each of its requests met, and what its client heard. */
export interface Second {
  readonly at: number
  readonly firstReceived: number
  readonly secondReceived: number
  readonly answers: readonly Parsed[]
}

export interface Parsed {
  readonly status: number
  readonly code: string | undefined
  readonly retryAfter: number | undefined
  /** Of this request: how often the first lane was asked before there was an answer. */
  readonly waitedForFirst: number
}

const PER_SECOND = 1
let conversation = 0

/** Plays so many virtual seconds; `change` is called at the beginning of each. */
export async function play(
  setup: OutageSetup,
  model: 'both' | 'lone',
  seconds: number,
  change: (at: number) => unknown,
): Promise<Second[]> {
  const played: Second[] = []
  for (let at = 0; at < seconds; at++) {
    await change(at)
    const [first, second] = [setup.receivedRequest('first'), setup.receivedRequest('second')]
    const answers: Parsed[] = []
    for (let request = 0; request < PER_SECOND; request++) answers.push(await sendTurn(setup, model))
    played.push({
      at,
      firstReceived: setup.receivedRequest('first') - first,
      secondReceived: setup.receivedRequest('second') - second,
      answers,
    })
    setup.server.advance(1000)
  }
  return played
}

async function sendTurn(setup: OutageSetup, model: string): Promise<Parsed> {
  const before = setup.receivedRequest('first')
  const messages = hello(`This is conversation ${conversation++}.`)
  const response = await send(setup.server, setup.account, { model, messages, stream: true })
  const text = await response.text()
  const status = response.status === 200 && !text.includes('[DONE]') ? 599 : response.status
  const retryAfter = response.headers.get('retry-after')
  return {
    status,
    code: response.status === 200 ? undefined : JSON.parse(text).error.code,
    retryAfter: retryAfter === null ? undefined : Number(retryAfter),
    waitedForFirst: setup.receivedRequest('first') - before,
  }
}
