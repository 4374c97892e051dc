import { fork } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { Fields } from '../../../src/lib/is-object.ts'
import { CUSTOM_TOOL } from './answer.ts'
import { composeScript, type Script } from './compose-script.ts'
import { hear, judge, readTold, type Verdict } from './judge.ts'

/** The provider in its own process, which is handed each script before it is asked for it. */
export async function startProvider() {
  const child = fork(fileURLToPath(new URL('provider.mjs', import.meta.url)), { serialization: 'advanced' })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return {
    port,
    play: ({ number, pieces, form, breaks }: Script) => void child.send({ number, script: { pieces, form, breaks } }),
    forget: (number: number) => void child.send({ number }),
    close: () => child.disconnect(),
  }
}

export type Provider = Awaited<ReturnType<typeof startProvider>>

export interface Played {
  readonly script: Script
  readonly verdict: Verdict
  readonly answer: { readonly status: number; readonly body: Buffer }
  readonly meant: ReturnType<typeof hear>
}

interface Ground {
  readonly provider: Provider
  readonly url: string
  readonly key: string
  readonly seed: number
}

/** One call, from what the model says to what its client makes of it. */
export async function playCall({ provider, url, key, seed }: Ground, number: number): Promise<Played> {
  const script = composeScript(seed, number)
  const model = `by-${script.wire}`
  provider.play(script)
  const answer = await ask(
    `${url}/v1/${script.protocol === 'chat' ? 'chat/completions' : 'responses'}`,
    key,
    bodyOf(script, model),
  )
  provider.forget(number)
  const meant = hear(script)
  return { script, answer, meant, verdict: judge(meant, () => readTold(script, model, answer)) }
}

/** As long as the counts of providers say. */
const PADDING = 'word '.repeat(600)
const TOOLS = ['look', 'find_it'].map((name) => ({ name, parameters: { type: 'object', properties: {} } }))

function bodyOf({ number, protocol, delivery, choices, tools, wantsUsage }: Script, model: string): Fields {
  const stream = delivery === 'stream'
  const words = `script-${number}- ${PADDING}`
  const hasCustom = tools === 'custom too'
  if (protocol === 'responses') {
    const functions = TOOLS.map((tool) => ({ type: 'function', strict: false, ...tool }))
    const declared = [...functions, ...(hasCustom ? [{ type: 'custom', name: CUSTOM_TOOL }] : [])]
    return { model, stream, input: words, store: false, tools: declared, reasoning: { summary: 'auto' } }
  }
  const functions = TOOLS.map((tool) => ({ type: 'function', function: tool }))
  return {
    ...{ model, stream, messages: [{ role: 'user', content: words }] },
    ...{ tools: [...functions, ...(hasCustom ? [{ type: 'custom', custom: { name: CUSTOM_TOOL } }] : [])] },
    ...(choices > 1 ? { n: choices } : {}),
    ...(stream && wantsUsage ? { stream_options: { include_usage: true } } : {}),
  }
}

/** No answer takes that long, on however busy a machine. */
const HANG_MS = 60_000

/** The status is 0 where there is no answer, or not a whole one. */
async function ask(url: string, key: string, body: Fields): Promise<{ status: number; body: Buffer }> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const asked = request(url, { method: 'POST', headers, signal: AbortSignal.timeout(HANG_MS) })
  asked.end(JSON.stringify(body))
  const pieces: Buffer[] = []
  try {
    const [answer] = await once(asked, 'response')
    for await (const piece of answer) pieces.push(piece)
    return { status: answer.statusCode, body: Buffer.concat(pieces) }
  } catch {
    return { status: 0, body: Buffer.concat(pieces) }
  }
}

const WIRES = ['chat', 'responses', 'anthropic', 'gemini']
const upstreamFor = (wire: string, port: number): string =>
  `  - { id: ${wire}, wire: ${wire}, base_url: "http://127.0.0.1:${port}/${wire === 'gemini' ? 'v1beta' : 'v1'}", allow_private: true }\n`
const modelBy = (wire: string): string =>
  `  - { id: by-${wire}, context_tokens: 200000, max_output_tokens: 8192, choices_max: 3, price: { input: "1.00", output: "2.00" }, lanes: [{ upstream: ${wire}, model: mind }] }\n`

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
