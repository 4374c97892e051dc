import { fork } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Fields } from '../../../src/lib/types.ts'
import { spell } from '../streams/values.ts'
import { CUSTOM_TOOL, textOf } from './answer.ts'
import { faultInSent } from './compose-inputs.ts'
import { composeScript, type Script } from './compose-script.ts'
import { judge, parseOutput, readDelivered, type Verdict } from './judge.ts'

/** The provider in its own process, which is handed each script before it is asked for it. */
export async function startProvider() {
  const child = fork(fileURLToPath(new URL('provider.mjs', import.meta.url)), { serialization: 'advanced' })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  const receivedRequest = new Map<number, (body: string) => void>()
  child.on('message', ({ number, body }: { number: number; body: string }) => receivedRequest.get(number)?.(body))
  return {
    port,
    /** Sends it to every caller; gives the first request that it receives. */
    play({ number, pieces, form, breaks }: Script): Promise<string> {
      child.send({ number, script: { pieces, form, breaks } })
      return new Promise((resolve) => receivedRequest.set(number, resolve))
    },
    forget(number: number) {
      child.send({ number })
      receivedRequest.delete(number)
    },
    close: () => child.disconnect(),
  }
}

export type Provider = Awaited<ReturnType<typeof startProvider>>

export interface Played {
  readonly script: Script
  readonly verdict: Verdict
  readonly answer: Parsed
  readonly meant: ReturnType<typeof parseOutput>
  readonly sent: string | undefined
}

interface StageContext {
  readonly provider: Provider
  readonly url: string
  readonly key: string
  readonly seed: number
}

/** One call, from what the model says to what its client makes of it. */
export const playCall = (stage: StageContext, number: number): Promise<Played> =>
  playScript(stage, composeScript(stage.seed, number))

export { entryOfScript, scriptOfEntry } from './corpus.ts'

export async function playScript({ provider, url, key }: Omit<StageContext, 'seed'>, script: Script): Promise<Played> {
  const { number } = script
  const model = `by-${script.wire}${script.isGeneric ? '-generic' : ''}`
  const receivedRequest = provider.play(script)
  const answer = await sendTurn(
    `${url}/v1/${script.protocol === 'chat' ? 'chat/completions' : 'responses'}`,
    key,
    bodyOf(script, model),
  )
  // What it was asked may come behind what it has answered.
  const body = await Promise.race([receivedRequest, sleep(ASKED_WITHIN_MS, undefined, { ref: false })])
  provider.forget(number)
  const meant = parseOutput(script)
  const fault =
    body === undefined ? 'no provider was called' : faultInSent(script.inputs, { body, ignored: answer.ignored })
  const verdict: Verdict =
    fault === undefined
      ? judge(meant, () => readDelivered(script, model, answer))
      : { outcome: 'finding', finding: `what was sent: ${fault}` }
  return { script, answer, meant, sent: body, verdict }
}

/** As long as the counts of providers say. */
const PADDING = 'word '.repeat(600)

function bodyOf({ number, protocol, delivery, choices, tools, wantsUsage, inputs }: Script, model: string): Fields {
  const stream = delivery === 'stream'
  const words = `script-${number}- ${PADDING}`
  const hasCustom = tools === 'custom too'
  const empty = { type: 'object', properties: {} }
  const plain = [
    { name: 'look', parameters: inputs.schema },
    { name: 'find_it', parameters: empty },
  ]
  if (protocol === 'responses') {
    const functions = plain.map((tool) => ({ type: 'function', strict: false, ...tool }))
    const declared = [...functions, ...(hasCustom ? [{ type: 'custom', name: CUSTOM_TOOL }] : [])]
    const input = [...inputs.turns, { role: 'user', content: words }]
    const cap = inputs.cap === undefined ? {} : { max_output_tokens: inputs.cap }
    return { model, stream, input, ...cap, store: false, tools: declared, reasoning: { summary: 'auto' } }
  }
  const functions = plain.map((tool) => ({ type: 'function', function: tool }))
  return {
    ...{ model, stream, messages: [...inputs.turns, { role: 'user', content: words }] },
    ...{ tools: [...functions, ...(hasCustom ? [{ type: 'custom', custom: { name: CUSTOM_TOOL } }] : [])] },
    ...(choices > 1 ? { n: choices } : {}),
    ...(inputs.cap === undefined ? {} : { max_tokens: inputs.cap }),
    ...(stream && wantsUsage ? { stream_options: { include_usage: true } } : {}),
  }
}

const ASKED_WITHIN_MS = 2000

/** No answer takes that long, on however busy a machine. */
const HANG_MS = 60_000

interface Parsed {
  readonly status: number
  readonly ignored: string
  readonly body: Buffer
}

/** The status is 0 where there is no answer, or not a whole one. */
async function sendTurn(url: string, key: string, body: Fields): Promise<Parsed> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const receivedRequest = request(url, { method: 'POST', headers, signal: AbortSignal.timeout(HANG_MS) })
  receivedRequest.end(spell(body))
  const pieces: Buffer[] = []
  try {
    const [answer] = await once(receivedRequest, 'response')
    for await (const piece of answer) pieces.push(piece)
    const ignored = textOf(answer.headers['x-millrace-ignored-fields'])
    return { status: answer.statusCode, ignored, body: Buffer.concat(pieces) }
  } catch {
    return { status: 0, ignored: '', body: Buffer.concat(pieces) }
  }
}

const HAS_GENERIC = new Set(['chat', 'responses'])
const WIRES = ['chat', 'responses', 'anthropic', 'gemini']
const upstreamFor = (wire: string, port: number): string =>
  upstreamEntry(wire, wire, port) +
  (HAS_GENERIC.has(wire) ? upstreamEntry(`${wire}-generic`, `${wire}, dialect: generic`, port) : '')
const upstreamEntry = (id: string, wire: string, port: number): string =>
  `  - { id: ${id}, wire: ${wire}, base_url: "http://127.0.0.1:${port}/${wire === 'gemini' ? 'v1beta' : 'v1'}", allow_private: true }\n`
const modelBy = (wire: string): string =>
  modelEntry(wire) + (HAS_GENERIC.has(wire) ? modelEntry(`${wire}-generic`) : '')
const modelEntry = (upstream: string): string =>
  `  - { id: by-${upstream}, inputs: [text, file], input_tokens_max: { file: 2000 }, context_tokens: 200000, max_output_tokens: 8192, choices_max: 3, price: { input: "1.00", output: "2.00" }, lanes: [{ upstream: ${upstream}, model: mind }] }\n`

/** Every lane is asked, however often it has failed and however busy the machine is. */
export const configFor = (port: number): string => `
server: { metrics_port: 0 }
routing: { put_aside: false, retry_percent: off }
overload: { loop_delay: off }
limits: { address: { refused_per_minute: off } }
telemetry: { log: { format: json, level: error } }
upstreams:
${WIRES.map((wire) => upstreamFor(wire, port)).join('')}models:
${WIRES.map(modelBy).join('')}`
