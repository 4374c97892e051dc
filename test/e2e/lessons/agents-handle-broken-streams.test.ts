import { expect, it } from 'vitest'
import type { Problem, ProblemCode } from '../../../src/model/problem.ts'
import { errorBody } from '../../fakes/chat-frames.ts'
import { begin } from '../../fakes/emit.ts'
import type { Script } from '../../fakes/fault-upstream.ts'
import { FAULTS } from '../../fakes/faults.ts'
import { readStream } from '../../support/read-stream.ts'
import { hello, send } from '../../support/send-chat.ts'
import { streamResponse } from '../../support/send-responses.ts'
import { openAccount } from '../../support/test-account.ts'
import { useScriptedUpstreams } from './scripted-server.ts'

const fails =
  (code: string, message = 'Words.'): Script =>
  async (providerAnswer) => {
    await begin(providerAnswer, 'after')
    await providerAnswer.frames(errorBody(message, { code }))
    await providerAnswer.end()
  }

const scripts = {
  broken: (providerAnswer) => FAULTS.reset(providerAnswer, 'after'),
  failing: fails('server_error'),
  filtered: fails('content_filter'),
  biology: fails('bio_policy'),
  unknown: fails('model_not_found'),
  prompt: fails('invalid_prompt'),
  long: fails('context_length_exceeded'),
  unpaid: fails('insufficient_quota'),
} satisfies Readonly<Record<string, Script>>

const setup = useScriptedUpstreams(scripts)
const server = () => setup().server

const AGENTS = {
  codex: { originator: 'codex_exec', 'user-agent': 'codex_exec/0.169.0 (Debian 12.0.0; x86_64)' },
  opencode: { 'user-agent': 'opencode/1.18.33 ai-sdk/provider-utils/4.0.40' },
  pi: { 'user-agent': 'pi/1.5.2 (linux; node/v24.21.0; x64)' },
} as const

/** After these words, or this type, every agent that was measured asks again. */
const PASSING = /server error|connection error/i

type Model = keyof typeof scripts

/** What the two protocols say of one ending, and what it has cost each time. */
async function parseOutput(model: Model, headers: Readonly<Record<string, string>>) {
  const account = await openAccount(server())
  const receivedRequest = { model, stream: true, messages: hello() }
  const chat = await readStream(await send(server(), account, receivedRequest, { headers }))
  const { events, response } = await streamResponse(server(), account, { model }, { headers })
  const receipts = await account.receipts()
  expect(receipts.map(({ state, outcome }) => [state, outcome])).toEqual([
    ['settled', 'upstream_failed'],
    ['settled', 'upstream_failed'],
  ])
  expect(chat.done).toBe(false)
  const event = events.find(({ type }) => type === 'error')
  return { inChat: chat.chunks.at(-1).error, event: event as unknown as { code: string; error: Problem }, response }
}

it.each(['broken', 'failing'] as const)('a stream that is %s may be retried', async (model) => {
  const { inChat, event, response } = await parseOutput(model, AGENTS.pi)
  for (const error of [inChat, event.error])
    expect(error).toMatchObject({
      code: 'upstream_error',
      type: 'server_error',
      message: expect.stringMatching(PASSING),
    })
  expect(response.error.code).toBe('upstream_error')
})

const FINAL: readonly (readonly [Model, ProblemCode])[] = [
  ['filtered', 'content_filter'],
  ['biology', 'bio_policy'],
  ['unknown', 'provider_misconfigured'],
  ['prompt', 'invalid_prompt'],
  ['long', 'context_length_exceeded'],
  ['unpaid', 'insufficient_quota'],
]

it.each(FINAL)('an end that is %s has a matching code and type', async (model, code) => {
  const { inChat, event, response } = await parseOutput(model, AGENTS.pi)
  for (const error of [inChat, event.error]) {
    expect(error.code).toBe(code)
    expect(`${JSON.stringify(error)}`).not.toMatch(/server.error|unavailable|again/i)
  }
  expect(response.error.code).toBe(code)
})

it.each(FINAL.flatMap(([model, code]) => (['codex', 'opencode'] as const).map((agent) => ({ model, code, agent }))))(
  '$agent gets a non-retryable code when the end is $model',
  async ({ model, code, agent }) => {
    const { inChat, event, response } = await parseOutput(model, AGENTS[agent])
    const known = ['invalid_prompt', 'context_length_exceeded', 'insufficient_quota']
    const expected = known.includes(code) ? code : 'invalid_prompt'
    expect([event.code, event.error.code, response.error.code]).toEqual([expected, expected, expected])
    expect(inChat.code).toBe(code)
    expect(response.error.message).toBe(inChat.message)
  },
)
