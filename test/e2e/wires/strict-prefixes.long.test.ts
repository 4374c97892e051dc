import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Fields } from '../../../src/lib/types.ts'
import { anthropicAnswer } from '../../fakes/anthropic-answers.ts'
import { chatAnswer } from '../../fakes/chat-answers.ts'
import { type FaultUpstream, type Script, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import { geminiAnswer } from '../../fakes/gemini-answers.ts'
import { noting } from '../../fakes/noting.ts'
import { responsesAnswer } from '../../fakes/responses-answers.ts'
import { brokenPrefix, type Rendered, renderedOf } from '../../fixtures/gateway/rendered-prompt.ts'
import { randomFrom } from '../../fixtures/lib/seeded-random.ts'
import { diceOf } from '../../fuzz/streams/dice.ts'
import { chat, get } from '../../support/send-chat.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { openAccount } from '../../support/test-account.ts'
import { scriptedAnswers } from './scripted-answers.ts'
import { CLIENT_MODES, createConversationClient } from './wire-clients.ts'
import { dialectOf, WIRES, type Wire } from './wires-server.ts'

const SEED = Number(process.env.SEED ?? 20_283)
const CONVERSATIONS = Number(process.env.STRICT_CONVERSATIONS ?? 8)
const WORDS = [
  ...['Use look_up then ping.', 'Use list and note.', 'Use note aloud.', 'Count to 3.'],
  ...['Hm.', 'é漢 🙂', '{"n": 1.0}'],
]
/** What is no part of a prompt. The rest of `generationConfig` is how to choose words. */
const NO_PROMPT = [
  ...['stream', 'stream_options', 'max_tokens', 'max_completion_tokens', 'max_output_tokens', 'generationConfig'],
]

interface StrictProvider {
  readonly upstream: FaultUpstream
  readonly refused: string[]
  readonly counts: { turns: number; conversations: number }
}

/** Answers 400 to a conversation whose prompt does not begin as before, and forgets what it has reasoned. */
async function startStrict(wire: Wire): Promise<StrictProvider> {
  const signatures = new Map()
  const refused: string[] = []
  const counts = { turns: 0, conversations: 0 }
  const prompts = new Map<string, Rendered>()
  const signer = { signatures, modelState: scriptedAnswers() }
  const scripts: Readonly<Record<Wire, Script>> = {
    chat: chatAnswer({ modelState: signer.modelState }),
    responses: responsesAnswer('everything', { ...signer, seals: signatures }),
    anthropic: anthropicAnswer(signer),
    gemini: geminiAnswer(signer),
  }
  const upstream = await startFaultUpstream(() => async (providerAnswer) => {
    const text = JSON.stringify(providerAnswer.receivedRequest)
    const conversation = /conversation-\d+/.exec(text)?.[0] ?? 'none'
    const before = prompts.get(conversation)
    const now = renderedOf(wire, Buffer.from(text))
    prompts.set(conversation, now)
    const broken = before && brokenPrefix(before, now, NO_PROMPT)
    counts.turns++
    counts.conversations = prompts.size
    if (broken === undefined) return scripts[wire](noting(providerAnswer, refused))
    const { block_binding: binding } = providerAnswer.receivedRequest as { block_binding?: Fields }
    if (binding?.prefix_mismatch_behavior === 'drop_block' && betaOf(providerAnswer.receivedHeaders))
      return scripts[wire](noting(providerAnswer, refused))
    signatures.clear()
    refused.push(broken)
    await providerAnswer.head(400)
    await providerAnswer.bytes(JSON.stringify({ error: { message: 'The prefix of this conversation was changed.' } }))
    await providerAnswer.end()
  })
  return { upstream, refused, counts }
}

const betaOf = (headers: Headers): boolean =>
  headers.get('anthropic-beta')?.includes('thinking-binding-controls-2026-08-01') === true

const PRICE = '{ input: "0.300001", cached_input: "0.075003", cache_write: "0.375007", output: "1.200007" }'

let server: TestServer
const providers = new Map<Wire, StrictProvider>()

beforeAll(async () => {
  for (const wire of WIRES) providers.set(wire, await startStrict(wire))
  const upstreams = WIRES.map(
    (wire) =>
      `  - { id: ${wire}, wire: ${wire}, dialect: ${dialectOf(wire, wire)}, api_key: "k-${wire}", base_url: "${providers.get(wire)!.upstream.baseUrl}", allow_private: true }\n`,
  )
  const models = WIRES.map(
    (wire) =>
      `  - { id: ${wire}, efforts: [none, low, high], context_tokens: 128000, max_output_tokens: 8192, price: ${PRICE}, lanes: [{ upstream: ${wire}, model: mind }] }\n`,
  )
  const dropping = upstreams[2]!.replace('id: anthropic,', 'id: dropping, on_prefix_mismatch: drop,')
  models.push(models[2]!.replaceAll(': anthropic,', ': dropping,'))
  server = await startServer({ config: `upstreams:\n${upstreams.join('')}${dropping}models:\n${models.join('')}` })
})

afterAll(async () => {
  await server.close()
  for (const { upstream } of providers.values()) await upstream.close()
})

describe.each(WIRES)('a provider of %s that refuses a changed prefix', (wire) => {
  it(`never sees one in ${CONVERSATIONS} conversations of each kind of client`, async () => {
    const dice = diceOf(randomFrom(SEED))
    const account = await openAccount(server)
    for (let number = 0; number < CONVERSATIONS; number++)
      for (const [at, mode] of CLIENT_MODES.entries()) {
        const client = createConversationClient(server, account, mode, {
          more: { effort: dice.pick(['none', 'low', 'high']) },
        })
        // Long enough for the receipts to be watched too.
        const opening = `conversation-${CLIENT_MODES.length * number + at} ${'Be kind. '.repeat(600)}`
        await client.loop(wire, opening)
        for (let turn = 0; turn < 3; turn++) await client.loop(wire, dice.pick(WORDS))
      }
    const { refused, counts } = providers.get(wire)!
    expect(refused).toEqual([])
    expect(counts.conversations).toBe(CLIENT_MODES.length * CONVERSATIONS)
    const receipts = await account.receipts()
    expect(receipts.filter(({ attempts }) => String(attempts).includes('"prefix"'))).toEqual([])
    console.info(`strict prefixes over ${wire}: seed ${SEED}`, counts)
  }, 300_000)
})

describe('a client that has changed what it sent before', () => {
  const tools = [{ type: 'function', function: { name: 'look_up', parameters: { type: 'object' } } }]
  const play = async (model: string) => {
    const account = await openAccount(server)
    const messages: Fields[] = [
      { role: 'user', content: `conversation-${model === 'dropping' ? 1 : 2}000 ${'Be kind. '.repeat(600)}` },
      { role: 'assistant', content: 'Yes.' },
      { role: 'user', content: 'Use look_up.' },
    ]
    const ask = () => chat(server, account, { model, messages, tools, reasoning_effort: 'low' })
    const { choices } = (await ask()).json
    messages.push(choices[0].message, { role: 'tool', tool_call_id: choices[0].message.tool_calls[0].id, content: 'x' })
    messages[1] = { role: 'assistant', content: 'No.' }
    const answer = await ask()
    const { json } = await get(server, account, `/requests/${answer.requestId}`)
    return {
      status: answer.status,
      at: json.prefix_broken_at,
      by: json.prefix_broken.by,
      lost: json.prefix_broken.reasoning_items_lost,
    }
  }

  it('is refused by its provider, and the receipt says why', async () => {
    expect(await play('anthropic')).toEqual({ status: 400, at: 'messages[1]', by: 'client', lost: null })
    expect(providers.get('anthropic')!.refused.splice(0)).toHaveLength(1)
  })

  it('is answered where the operator lets the provider drop thinking, and the receipt says how much', async () => {
    expect(await play('dropping')).toEqual({ status: 200, at: 'messages[1]', by: 'client', lost: 1 })
    expect(providers.get('anthropic')!.refused).toEqual([])
  })
})
