import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ProviderAnswer } from '../fakes/answers.ts'
import { chunk, USAGE, usageChunk } from '../fakes/chat-frames.ts'
import { type FaultUpstream, startFaultUpstream } from '../fakes/fault-upstream.ts'
import { expectProblem } from '../support/expect-problem.ts'
import { openRawSocket } from '../support/raw-socket.ts'
import { readStream, type StreamedAnswer } from '../support/read-stream.ts'
import { hello, send } from '../support/send-chat.ts'
import { type SpawnedServer, spawnServer } from '../support/spawn-server.ts'
import { nanoOf } from '../support/test-account.ts'
import { until } from '../support/until.ts'

const STREAMS = 200
const WORDS_BEFORE = 5
const WORDS_AFTER = 10
const PACE_MS = 100
const MESSAGES = hello('Count, please.')
const INPUT_NANO = BigInt(Math.ceil(Buffer.byteLength(JSON.stringify(MESSAGES)) / 4)) * 1000n
const COUNTED_NANO = 7n * 1000n + 4n * 250n + 7n * 2000n

let far: FaultUpstream
let server: SpawnedServer
let goOn: () => void

beforeEach(async () => {
  const stopping = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const emit = async (providerAnswer: ProviderAnswer, from: number, to: number) => {
    for (let word = from; word < to && !providerAnswer.socket.destroyed; word++) {
      await providerAnswer.frames(chunk(providerAnswer.model, { delta: { content: `${word} ` } }))
      await pause(PACE_MS)
    }
  }
  const scripts: Record<string, (providerAnswer: ProviderAnswer) => Promise<void>> = {
    async brief(providerAnswer) {
      await providerAnswer.head()
      await emit(providerAnswer, 0, WORDS_BEFORE)
      // Whatever the machine does meanwhile, the signal comes in the middle of every answer.
      await stopping
      await emit(providerAnswer, WORDS_BEFORE, WORDS_BEFORE + WORDS_AFTER)
      await providerAnswer.frames(
        chunk(providerAnswer.model, { finish: 'stop' }),
        usageChunk(providerAnswer.model, USAGE),
        '[DONE]',
      )
      await providerAnswer.end()
    },
    async endless(providerAnswer) {
      await providerAnswer.head()
      await emit(providerAnswer, 0, Number.POSITIVE_INFINITY)
    },
  }
  far = await startFaultUpstream((model) => scripts[model])
})

afterEach(async () => {
  await server?.close()
  await far.close()
})

const configOf = (drain: string) => `drain: { timeout: ${drain} }
upstreams:
  - { id: far, wire: chat, base_url: "${far.baseUrl}", allow_private: true, api_key: sk-far-0123456789 }
models:
${['brief', 'endless'].map((id) => `  - { id: ${id}, context_tokens: 100000, max_output_tokens: 2000, price: { input: "1.00", cached_input: "0.25", output: "2.00" }, lanes: [{ upstream: far, model: ${id} }] }`).join('\n')}
`

/** Every stream has its first words when this resolves; `answers` are read on meanwhile. */
async function startStreams(models: readonly string[]): Promise<{ answers: Promise<StreamedAnswer>[] }> {
  const responses = await Promise.all(
    models.map((model) =>
      send(server, server, { model, stream: true, stream_options: { include_usage: true }, messages: MESSAGES }),
    ),
  )
  expect(responses.map(({ status }) => status)).toEqual(models.map(() => 200))
  return { answers: responses.map(readStream) }
}

const stopping = () => until(() => server.logged('Stopping: ').length > 0)

async function expectOver(lost: string) {
  const { code } = await server.ended
  expect(code, server.output()).toBe(0)
  expect(server.output()).toContain(lost)
  expect(await server.json('db', 'verify')).toMatchObject({ ok: true, violations: 0 })
}

const receiptsById = async () => {
  const rows = await server.readLedgerRows((db) => db.selectFrom('receipts').selectAll().execute())
  return new Map(rows.map((row) => [row.request_id, row]))
}

/** The wallet has paid exactly what the receipts say, and nothing is held. */
async function expectPaid(charges: readonly bigint[]) {
  const { wallet } = (await server.json('accounts', 'show', 'owner@example.com')) as { wallet: Record<string, string> }
  const spent = charges.reduce((sum, charge) => sum + charge, 0n)
  expect(nanoOf(wallet.available ?? '')).toBe(nanoOf('1000.00') - spent)
}

describe('SIGTERM under 200 streams', { timeout: 90_000 }, () => {
  it('finishes all within the drain time and exits with 0', async () => {
    server = await spawnServer({ config: configOf('60s') })
    const { answers } = await startStreams(Array(STREAMS).fill('brief'))
    await until(() => far.providerAnswers.length === STREAMS)
    // A request whose first bytes are there already cannot be sent elsewhere: it is told to go.
    const late = await Promise.all(Array.from({ length: 3 }, () => openRawSocket(server)))
    for (const socket of late) socket.write('GET /v1/models HTTP/1.1\r\nhost: x\r\n')
    // Connections are taken in their order: when later ones have been answered, those bytes have been read.
    for (let later = 0; later < 2; later++) await fetch(server.baseUrl, { headers: { connection: 'close' } })
    server.kill('SIGTERM')
    await stopping()
    expect(server.output()).toContain(`Stopping: ${STREAMS} requests open, waiting up to 60 s`)

    for (const socket of late) {
      socket.write(`authorization: Bearer ${server.key}\r\n\r\n`)
      const answer = await socket.answer()
      expectProblem(answer, 'server_draining')
      expect(answer.headers.get('connection')).toBe('close')
      await socket.closed
    }
    await expect(send(server, server, { model: 'brief', messages: MESSAGES })).rejects.toThrow()
    goOn()

    const whole = Array.from({ length: WORDS_BEFORE + WORDS_AFTER }, (_, word) => `${word} `).join('')
    const parsedOutput = await Promise.all(answers)
    for (const { done, text } of parsedOutput) expect([done, text]).toEqual([true, whole])
    await expectOver(`${STREAMS} requests, 0 lost`)
    expect(far.providerAnswers).toHaveLength(STREAMS)

    const receipts = await receiptsById()
    expect(receipts.size).toBe(STREAMS)
    for (const { requestId, chunks } of parsedOutput) {
      const { usage } = chunks.at(-1)
      expect(usage).toMatchObject({ prompt_tokens: 11, completion_tokens: 7 })
      const charge = nanoOf(usage.millrace.charge)
      expect(charge).toBe(COUNTED_NANO)
      expect(receipts.get(requestId)).toMatchObject({
        state: 'settled',
        outcome: 'completed',
        estimated: 0,
        charge_nano: charge,
      })
    }
    await expectPaid(parsedOutput.map(() => COUNTED_NANO))
  })

  it('cancels the rest after a short drain time; each says so and pays for its output', async () => {
    server = await spawnServer({ config: configOf('4s') })
    const models = Array.from({ length: STREAMS }, (_, at) => (at % 4 === 0 ? 'brief' : 'endless'))
    const { answers } = await startStreams(models)
    await until(() => far.providerAnswers.length === STREAMS)
    server.kill('SIGTERM')
    await stopping()
    goOn()

    const parsedOutput = await Promise.all(answers)
    await expectOver(`${STREAMS} requests, 0 lost`)
    const receipts = await receiptsById()
    expect(receipts.size).toBe(STREAMS)
    const charges = parsedOutput.map((answer, at) => {
      const receipt = receipts.get(answer.requestId)
      // Which of the brief ones made it in time is the machine's affair; what each was told is not.
      const expected = answer.done ? nanoOf(answer.chunks.at(-1).usage.millrace.charge) : expectCut(answer)
      expect(receipt, `stream ${at}`).toMatchObject({
        state: 'settled',
        outcome: answer.done ? 'completed' : 'drained',
        charge_nano: expected,
        estimated: answer.done ? 0 : 1,
      })
      if (models[at] === 'endless') expect(answer.done).toBe(false)
      return expected
    })
    await Promise.all(far.providerAnswers.map(({ model, closed }) => (model === 'endless' ? closed : undefined)))
    await expectPaid(charges)
  })
})

/** The last words of a stream that was cut, and what it costs: its input, and the output that arrived. */
function expectCut({ chunks, requestId, text }: StreamedAnswer): bigint {
  expect(chunks.at(-1)).toMatchObject({
    error: { code: 'server_draining', type: 'server_error', request_id: requestId },
  })
  for (const { choices } of chunks.slice(0, -1)) expect(choices[0].finish_reason).toBe(null)
  // Each frame is a word, and as long as a token: so many were seen.
  const frames = text.split(' ').length - 1
  const isWords = Buffer.byteLength(text) >= 2 * frames
  return INPUT_NANO + BigInt(isWords ? frames : Math.ceil(Buffer.byteLength(text) / 4)) * 2000n
}
