import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nanoFromPico } from '../../src/model/money.ts'
import type { ProviderAnswer } from '../fakes/answers.ts'
import { chunk, reply, USAGE, usageChunk } from '../fakes/chat-frames.ts'
import { type FaultUpstream, startFaultUpstream } from '../fakes/fault-upstream.ts'
import { expectProblem } from '../support/expect-problem.ts'
import { readStream } from '../support/read-stream.ts'
import { answerOf, chat, hello, send } from '../support/send-chat.ts'
import { type SpawnedServer, spawnServer } from '../support/spawn-server.ts'
import { nanoOf } from '../support/test-account.ts'
import { withoutStrain } from '../support/test-config.ts'
import { until } from '../support/until.ts'

const STREAMS = 60
const JSONS = 8
const WORDS = 8
const PACE_MS = 60
const JSON_MS = 40

/** One state of the configuration. No two have the same price, so a price tells which of them a request was judged by. */
interface Epoch {
  /** Pico-dollars a token of input. Charges are no whole number of nano-dollars, so rounding shows as well. */
  readonly inputPico: number
  readonly home: 'first' | 'second'
  readonly extra: boolean
  readonly requestsPerMinute: number
}

const epochs: Epoch[] = []
/** The newest epoch that is certainly in force, and the newest that may be. */
let inForce = 0
let written = 0

const homes = new Map<string, FaultUpstream>()
let server: SpawnedServer

/** Two servers that say who they are. */
const scriptOf = (home: string) => async (providerAnswer: ProviderAnswer) => {
  await providerAnswer.head()
  if (providerAnswer.delivery === 'json') {
    await pause(JSON_MS)
    await providerAnswer.bytes(JSON.stringify(reply(providerAnswer.model, { message: { content: home } })))
  } else {
    for (let word = 0; word < WORDS; word++) {
      await providerAnswer.frames(chunk(providerAnswer.model, { delta: { content: word === 0 ? home : '.' } }))
      await pause(PACE_MS)
    }
    await providerAnswer.frames(
      chunk(providerAnswer.model, { finish: 'stop' }),
      usageChunk(providerAnswer.model, USAGE),
      '[DONE]',
    )
  }
  await providerAnswer.end()
}

beforeAll(async () => {
  for (const home of ['first', 'second']) homes.set(home, await startFaultUpstream(() => scriptOf(home)))
  epochs.push({ inputPico: 1_000_001, home: 'first', extra: false, requestsPerMinute: 1_000_000 })
  server = await spawnServer({ config: configOf(epochs[0]!) })
})
afterAll(async () => {
  await server?.close()
  for (const home of homes.values()) await home.close()
})

const dollars = (pico: number): string => (pico / 1e6).toFixed(6)

const configOf = ({ inputPico, home, extra, requestsPerMinute }: Epoch): string => `
limits: { account: { requests_per_minute: ${requestsPerMinute} } }
upstreams: [{ id: far, wire: chat, base_url: "${homes.get(home)?.baseUrl}", allow_private: true }]
models:
${(extra ? ['main', 'extra'] : ['main']).map((id) => `  - { id: ${id}, context_tokens: 100000, max_output_tokens: 2000, price: { input: "${dollars(inputPico)}", cached_input: "0.25", output: "2.00" }, lanes: [{ upstream: far, model: ${id} }] }`).join('\n')}
`

const chargeIn = ({ inputPico }: Epoch): bigint =>
  nanoFromPico(7n * BigInt(inputPico) + 4n * 250_000n + 7n * 2_000_000n)

async function write(epoch: Epoch): Promise<void> {
  epochs.push(epoch)
  written = epochs.length - 1
  await server.writeConfig(withoutStrain(configOf(epoch)))
}

/** The swap is whole: when its price is there, everything is. */
async function untilInForce(): Promise<void> {
  const { inputPico } = epochs[written]!
  await until(async () => {
    const { models } = await server.operate('models.list')
    return models.some(({ price }) => price?.input === dollars(inputPico).replace(/0+$/, ''))
  })
  inForce = written
}

async function change(changeRequest: Partial<Epoch>): Promise<void> {
  const now = epochs[written]!
  await write({ ...now, inputPico: now.inputPico + 1000, ...changeRequest })
}

interface Received {
  readonly model: 'main' | 'extra'
  readonly status: number
  readonly code: string | undefined
  readonly requestId: string
  /** The epochs that may have been in force when it was judged. */
  readonly from: number
  readonly to: number
  readonly limit: number
  readonly home: string
  readonly whole: boolean
  readonly usage: { readonly millrace: { readonly charge: string; readonly price_version: number } } | undefined
}

async function sendTurn(model: Received['model'], stream: boolean): Promise<Received> {
  const from = inForce
  const body = { model, stream, messages: hello(), ...(stream ? { stream_options: { include_usage: true } } : {}) }
  const response = await send(server, server, body)
  const about = {
    model,
    status: response.status,
    requestId: response.headers.get('x-request-id') ?? '',
    from,
    to: written,
    limit: Number(response.headers.get('x-ratelimit-limit-requests')),
  }
  if (!stream || response.status !== 200) {
    const { json } = await answerOf(response)
    const home = json.choices?.[0]?.message.content ?? ''
    return { ...about, code: json.error?.code, home, whole: home !== '', usage: json.usage }
  }
  const { done, text, chunks } = await readStream(response)
  return {
    ...about,
    code: chunks.at(-1)?.error?.code,
    home: text.replaceAll('.', ''),
    whole: done && text.length > WORDS,
    usage: chunks.at(-1)?.usage,
  }
}

/** Clients that ask again as soon as they have their answer. Resolves to everything they were answered, once stopped. */
function keepSending() {
  let stopped = false
  const receivedRequest: Received[] = []
  const client = async (stream: boolean, at: number) => {
    for (let turn = at; !stopped; turn++)
      receivedRequest.push(await sendTurn(turn % 4 === 3 ? 'extra' : 'main', stream))
  }
  const clients = [
    ...Array.from({ length: STREAMS }, (_, at) => client(true, at)),
    ...Array.from({ length: JSONS }, (_, at) => client(false, at)),
  ]
  const all = Promise.all(clients)
  all.catch(() => {})
  return {
    receivedRequest,
    async stop() {
      stopped = true
      await all
    },
  }
}

const modelIds = async () => (await server.operate('models.list')).models.map(({ id }) => id)

/** What was in force stays. */
async function refuseBroken(text: string): Promise<void> {
  const refused = server.logged('was not reloaded').length
  await server.writeConfig(text)
  server.kill('SIGHUP')
  await until(async () => server.logged('was not reloaded').length > refused || (await modelIds()).length !== 2)
  expect(await modelIds()).toEqual(['main', 'extra'])
}

/** Every kind of change, one after the other and in bursts, told by a signal or found by the server itself. */
async function changeEverything(): Promise<void> {
  const changeRequests: Partial<Epoch>[] = [
    { extra: true },
    { home: 'second' },
    { requestsPerMinute: 900_000 },
    {},
    { extra: false, home: 'first' },
    { extra: true, requestsPerMinute: 1_000_000 },
    { home: 'second' },
    {},
  ]
  for (const [at, changeRequest] of changeRequests.entries()) {
    await change(changeRequest)
    if (at % 2 === 0) server.kill('SIGHUP')
    await untilInForce()
  }
  const good = withoutStrain(configOf(epochs[written]!))
  for (const broken of [good.replace('price:', 'prise:'), good.slice(0, good.indexOf('lanes')), '']) {
    await refuseBroken(broken)
  }
  for (let burst = 0; burst < 12; burst++) {
    await change({ home: burst % 2 === 0 ? 'first' : 'second', extra: burst % 3 !== 0 })
    server.kill('SIGHUP')
    await pause(burst * 3)
  }
  await untilInForce()
  await change({ extra: false })
  await untilInForce()
}

describe('configuration reloads under load', { timeout: 120_000 }, () => {
  it('no request fails, and each sees one consistent price, provider, model list and limit', async () => {
    const load = keepSending()
    await until(() => load.receivedRequest.length > STREAMS)
    await changeEverything()
    const changed = load.receivedRequest.length
    await until(() => load.receivedRequest.length > changed + STREAMS)
    await load.stop()

    await change({ requestsPerMinute: 1 })
    await untilInForce()
    const limited = await until(async () => {
      const answer = await sendTurn('main', false)
      if (answer.status === 200) load.receivedRequest.push(answer)
      return answer.status !== 200 && answer
    })
    expect([limited.status, limited.code, limited.limit]).toEqual([429, 'rate_limit_exceeded', 1])
    await change({ requestsPerMinute: 1_000_000 })
    await untilInForce()

    const removed = await chat(server, server, { model: 'extra' })
    expectProblem(removed, 'model_not_found')
    server.kill('SIGTERM')
    const { code } = await server.ended
    expect(code, server.output()).toBe(0)
    expect(await server.json('db', 'verify')).toMatchObject({ ok: true })

    const { receipts, prices } = await server.readLedgerRows(async (db) => ({
      receipts: await db.selectFrom('receipts').selectAll().execute(),
      prices: await db.selectFrom('prices').selectAll().execute(),
    }))
    const receiptOf = new Map(receipts.map((receipt) => [receipt.request_id, receipt]))
    const epochOf = (model: string, version: number): number => {
      const price = prices.find((row) => row.model === model && row.version === version)
      const pico = Number(JSON.parse(price?.terms ?? '{}').input)
      return epochs.findIndex(({ inputPico }) => inputPico === pico)
    }

    let served = 0
    for (const receivedRequest of load.receivedRequest) {
      const reported = JSON.stringify(receivedRequest)
      if (receivedRequest.status === 404) {
        expect([receivedRequest.model, receivedRequest.code], reported).toEqual(['extra', 'model_not_found'])
        expect(
          epochs.slice(receivedRequest.from, receivedRequest.to + 1).some(({ extra }) => !extra),
          reported,
        ).toBe(true)
        continue
      }
      expect([receivedRequest.status, receivedRequest.code, receivedRequest.whole], reported).toEqual([
        200,
        undefined,
        true,
      ])
      served++
      const receipt = receiptOf.get(receivedRequest.requestId)!
      const at = epochOf(receivedRequest.model, receipt.price_version)
      expect(at, reported).toBeGreaterThanOrEqual(receivedRequest.from)
      expect(at, reported).toBeLessThanOrEqual(receivedRequest.to)
      const epoch = epochs[at]!
      expect([receivedRequest.home, receivedRequest.limit], reported).toEqual([epoch.home, epoch.requestsPerMinute])
      if (receivedRequest.model === 'extra') expect(epoch.extra, reported).toBe(true)
      expect(receipt, reported).toMatchObject({ state: 'settled', outcome: 'completed', charge_nano: chargeIn(epoch) })
      expect(receivedRequest.usage?.millrace.price_version).toBe(receipt.price_version)
      expect(nanoOf(receivedRequest.usage?.millrace.charge ?? '')).toBe(receipt.charge_nano)
    }
    expect(receipts).toHaveLength(served)
    // It would prove nothing if few requests had met a change.
    expect(load.receivedRequest.filter(({ from, to }) => from !== to).length).toBeGreaterThan(STREAMS)
    expect(new Set(receipts.map(({ price_version }) => price_version)).size).toBeGreaterThan(8)
  })
})
