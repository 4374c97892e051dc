import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { FILE_TOKENS, IMAGE_TOKENS, seesParts } from '../../fakes/content-parts.ts'
import { type FaultUpstream, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { EVERY_LANE_ASKED } from '../../support/test-config.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'

/** Nano-dollars a token. */
export const INPUT = 10_000n
export const OUTPUT = 20_000n
export const CONTEXT = 100_000

/** Models that look, by the wire of their lane; `both` asks the chat lane first, `blind` reads text only. */
export const LOOKERS = ['over-chat', 'over-responses'] as const
export type Looker = (typeof LOOKERS)[number]

export interface PartsServer {
  readonly server: TestServer
  readonly far: FaultUpstream
  /** An address that every provider is shown and the gateway must never open. */
  readonly canary: string
}

const SEES = `inputs: [text, image, file], input_tokens_max: { image: ${IMAGE_TOKENS}, file: ${FILE_TOKENS} }`
const PRICE = 'price: { input: "10.00", output: "20.00" }'

const model = (id: string, more: string, ...lanes: string[]) =>
  `  - { id: ${id}, context_tokens: ${CONTEXT}, max_output_tokens: 1000, ${PRICE}, ${more}, lanes: [${lanes.join(', ')}] }\n`
const lane = (upstream: string, priority = 1, called = 'seer') =>
  `{ upstream: ${upstream}, model: ${called}, priority: ${priority} }`

const configFor = (baseUrl: string): string =>
  [
    EVERY_LANE_ASKED,
    'upstreams:\n',
    `  - { id: far-chat, wire: chat, base_url: "${baseUrl}", allow_private: true }\n`,
    `  - { id: far-responses, wire: responses, dialect: generic, base_url: "${baseUrl}", allow_private: true }\n`,
    'models:\n',
    model('over-chat', SEES, lane('far-chat')),
    model('over-responses', SEES, lane('far-responses')),
    model('both', SEES, lane('far-chat'), lane('far-responses', 2)),
    model('images-only', `inputs: [text, image], input_tokens_max: { image: ${IMAGE_TOKENS} }`, lane('far-chat')),
    model('liar', SEES, lane('far-chat', 1, 'liar')),
    model('breaks', SEES, lane('far-chat', 1, 'breaks')),
    model('blind', 'inputs: [text]', lane('far-chat')),
    'plans:\n  - { id: pro, models: ["*"], windows: [{ every: 5h, allowance: "20.00" }] }\n',
  ].join('')

export function usePartsServer(): () => PartsServer {
  let setup: PartsServer | undefined
  let trap: Server | undefined
  let caught = 0
  const current = () => {
    if (!setup) throw new Error('the house has not been opened yet')
    return setup
  }
  beforeAll(async () => {
    trap = createServer((socket) => {
      caught++
      socket.destroy()
    }).listen(0, '127.0.0.1')
    await once(trap, 'listening')
    const far = await startFaultUpstream(() => seesParts)
    const server = await startServer({ config: configFor(far.baseUrl) })
    setup = { server, far, canary: `http://127.0.0.1:${(trap.address() as AddressInfo).port}` }
  })
  afterEach(async () => {
    await expectBalancedLedger(current().server)
    current().far.forget()
    expect(caught, 'connections to an address that a client has sent').toBe(0)
  })
  afterAll(async () => {
    await setup?.server.close()
    await setup?.far.close()
    trap?.close()
  })
  return current
}

const inBase64 = (mediaType: string, bytes: string): string =>
  `data:${mediaType};base64,${Buffer.from(bytes, 'latin1').toString('base64')}`

/** Far longer than what it counts for. */
export const PICTURE = inBase64('image/png', `\x89PNG\r\n\x1a\n${'pixels '.repeat(20_000)}`)
export const PDF = inBase64('application/pdf', `%PDF-1.7${' page'.repeat(500)}`)
/** As many tokens as bytes: more than the catalogue says of a file. */
export const LONG_TEXT = inBase64('text/plain', 'once upon a time '.repeat(1000))
