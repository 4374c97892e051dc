import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { emitsAnswer } from '../fakes/emit-items.ts'
import { type FaultUpstream, startFaultUpstream } from '../fakes/fault-upstream.ts'
import { chat, send } from '../support/send-chat.ts'
import { respond } from '../support/send-responses.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { openAccount } from '../support/test-account.ts'

/** Models by their one lane, and where its server reads a salt. */
const LANES = {
  'vllm-chat': { upstream: 'wire: chat, dialect: vllm', field: 'cache_salt' },
  'vllm-responses': { upstream: 'wire: responses, dialect: vllm', field: 'cache_salt' },
  fireworks: { upstream: 'wire: chat, dialect: fireworks', field: 'prompt_cache_isolation_key' },
  'plain-chat': { upstream: 'wire: chat', field: undefined },
  'plain-responses': { upstream: 'wire: responses', field: undefined },
} as const
type LaneName = keyof typeof LANES
const NAMES = Object.keys(LANES) as readonly LaneName[]
const SALTED = NAMES.filter((name) => LANES[name].field !== undefined)
const SALTS = ['cache_salt', 'prompt_cache_isolation_key']

const configOf = ({ baseUrl }: FaultUpstream) => `upstreams:
${NAMES.map((name) => `  - { id: ${name}, ${LANES[name].upstream}, base_url: "${baseUrl}", allow_private: true }`).join('\n')}
models:
${NAMES.map((name) => `  - { id: ${name}, context_tokens: 100000, max_output_tokens: 2000, price: { input: "1.00", output: "2.00" }, lanes: [{ upstream: ${name}, model: ${name} }] }`).join('\n')}
`

describe('provider prompt caches', () => {
  let far: FaultUpstream
  let folder: string
  let server: TestServer
  beforeAll(async () => {
    const description = emitsAnswer({ items: [{ kind: 'message', words: ['Good ', 'morning'] }] })
    far = await startFaultUpstream(() => description)
    folder = await mkdtemp(join(tmpdir(), 'millrace-salts-'))
    server = await startServer({ folder, config: configOf(far) })
  })
  afterAll(async () => {
    await server?.close()
    await far?.close()
    await rm(folder, { recursive: true, force: true })
  })

  type Who = Awaited<ReturnType<typeof openAccount>>

  const ASKS: Readonly<
    Record<string, (who: Who, model: string, more: object) => Promise<{ readonly status: number }>>
  > = {
    chat: (who, model, more) => chat(server, who, { model, ...more }),
    responses: (who, model, more) => respond(server, who, { model, ...more }),
    compact: (who, model, more) => respond(server, who, { model, ...more }, { path: '/responses/compact' }),
  }

  /** Of each way to ask, on each lane: what salts have been sent, by the names of both fields. */
  async function saltsSentBy(who: Who, more: object = {}) {
    const sent: Record<string, object> = {}
    for (const model of NAMES) {
      for (const [variant, sendTurn] of Object.entries(ASKS)) {
        far.forget()
        expect((await sendTurn(who, model, more)).status).toBe(200)
        const body = far.providerAnswers.at(-1)?.receivedRequest ?? {}
        sent[`${variant} over ${model}`] = Object.fromEntries(SALTS.map((field) => [field, body[field]]))
      }
    }
    return sent
  }

  const expectedOf = (salt: unknown) =>
    Object.fromEntries(
      NAMES.flatMap((model) =>
        Object.keys(ASKS).map((variant) => [
          `${variant} over ${model}`,
          Object.fromEntries(SALTS.map((field) => [field, LANES[model].field === field ? salt : undefined])),
        ]),
      ),
    )

  it('are separate per account on every route, and survive a restart', async () => {
    expect(SALTED).toHaveLength(3)
    const [alice, bob] = [await openAccount(server), await openAccount(server)]
    await chat(server, alice, { model: 'vllm-chat' })
    const saltOfAlice = far.providerAnswers.at(-1)?.receivedRequest.cache_salt
    await chat(server, bob, { model: 'vllm-chat' })
    const saltOfBob = far.providerAnswers.at(-1)?.receivedRequest.cache_salt
    for (const salt of [saltOfAlice, saltOfBob]) expect(salt).toMatch(/^[\w-]{43}$/)
    expect(saltOfAlice).not.toBe(saltOfBob)

    expect(await saltsSentBy(alice)).toEqual(expectedOf(saltOfAlice))
    const ofAlice = Object.fromEntries(SALTS.map((field) => [field, saltOfAlice]))
    expect(await saltsSentBy(bob, ofAlice)).toEqual(expectedOf(saltOfBob))

    await server.close()
    server = await startServer({ folder, config: configOf(far) })
    expect(await saltsSentBy(alice)).toEqual(expectedOf(saltOfAlice))
  })

  it('cannot be reached with a differently spelled salt', async () => {
    const bob = await openAccount(server)
    for (const spelling of ['Cache_Salt', 'cache\\u005fsalt', 'PROMPT_CACHE_ISOLATION_KEY']) {
      const body = `{"model":"vllm-chat","messages":[{"role":"user","content":"Hi"}],"${spelling}":"mine"}`
      expect((await send(server, bob, body)).status).toBe(400)
    }
  })
})
