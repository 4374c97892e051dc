import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { refusalOfMessagesRequest } from '../../../test/fakes/messages-request.ts'
import { outputText, sealed, thinking, written } from '../../../test/fixtures/protocols/anthropic/messages.ts'
import { requestOf } from '../../../test/fixtures/protocols/chat/translate.ts'
import { conversationOf, message } from '../../../test/fixtures/protocols/conversation.ts'
import { conversationIn } from '../../../test/fixtures/protocols/conversation-in.ts'
import { requestOf as responsesRequestOf } from '../../../test/fixtures/protocols/responses/read-request.ts'
import { CHAT_SPECIMENS } from '../../../test/translation-gaps/chat-specimens.ts'
import { randomChatRequest, randomResponsesRequest } from '../../../test/translation-gaps/random-requests.ts'
import { RESPONSES_SPECIMENS } from '../../../test/translation-gaps/responses-specimens.ts'
import type { Conversation } from '../../model/conversation.ts'
import { effortOf, type ModelTraits, type PromptCache } from '../../model/effort.ts'
import type { Protocol, TurnRequest } from '../../model/turn.ts'

const ask = (client: Protocol, body: object): TurnRequest =>
  client === 'chat' ? requestOf(body) : responsesRequestOf({ model: 'm', ...body })

/** Each kind of model that there is, and what a strict server in front of it takes. */
const LANES = [
  { name: 'anthropic', traits: {}, manners: {} },
  { name: 'generic', traits: {}, manners: { thinking: 'budget', sampling: true, prefill: true } },
  { name: 'anthropic', traits: { jsonSchema: 'tool', systemPrompt: false }, manners: {} },
  { name: 'generic', traits: { sampling: false }, manners: { thinking: 'budget', prefill: true } },
] as const satisfies readonly { name: string; traits: Partial<ModelTraits>; manners: object }[]
const EFFORTS = [undefined, 'none', 'low', 'high', 'ultra', 'unheard-of']
const CACHES: readonly PromptCache[] = ['off', 'client', 'system', 'conversation']

/** What a strict server says of the conversation, in every way in which it can be asked of it. */
function refusals(conversation: Conversation, client: Protocol): string[] {
  return LANES.flatMap(({ name, traits, manners }) =>
    EFFORTS.flatMap((effort, at) => {
      const over = {
        ...{ client, outputCap: at % 2 === 0 ? 800 : 8_000, promptCache: CACHES[at % CACHES.length]! },
        effort: effort === undefined ? undefined : effortOf(effort),
      }
      const { body } = written(conversation, outputText(name, traits), over)
      const refusal = refusalOfMessagesRequest(body, manners)
      return refusal === undefined ? [] : [`${name}, ${effort}: ${refusal}\n${JSON.stringify(body)}`]
    }),
  )
}

/** As if this lane had thought here and there, in front of what it said and called, and of nothing. */
function withThoughts(conversation: Conversation): Conversation {
  const thoughts = [thinking('hm'), { type: 'redacted_thinking', data: 'Rk9P' }].map((block) => sealed(block))
  const items = conversation.items.flatMap((item, at) => [...thoughts.slice(0, (at * 7) % 3), item])
  return { ...conversation, items: [...items, ...thoughts.slice(0, items.length % 2)] }
}

describe('a strict server takes', () => {
  it.each([
    ['chat' as const, CHAT_SPECIMENS],
    ['responses' as const, RESPONSES_SPECIMENS],
  ])('whatever can be said in %s, on every kind of model', (client, specimens) => {
    for (const { what, without, with: withIt } of specimens)
      for (const body of [without, withIt]) {
        const conversation = conversationIn(ask(client, body))
        expect(refusals(conversation, client), what).toEqual([])
      }
  })

  it.each([
    ['chat' as const, randomChatRequest],
    ['responses' as const, randomResponsesRequest],
  ])('random conversations of %s', { timeout: 60_000 }, (client, requests) => {
    const [seed, numRuns] = [20_267, 150]
    const counts: Record<string, number> = {}
    fc.assert(
      fc.property(requests as fc.Arbitrary<{ body: object; kinds: readonly string[] }>, ({ body, kinds }) => {
        for (const kind of kinds) counts[kind] = (counts[kind] ?? 0) + 1
        const conversation = conversationIn(ask(client, body))
        expect(refusals(conversation, client)).toEqual([])
        expect(refusals(withThoughts(conversation), client)).toEqual([])
      }),
      { seed, numRuns },
    )
    console.info(
      `messages requests from ${client}: seed ${seed}, ${numRuns} × ${LANES.length * EFFORTS.length}`,
      counts,
    )
  })
})

const hi = message('user', 'hi')

describe('thinking', () => {
  const think = (name: string, effort: string | undefined, over: object = {}, traits: Partial<ModelTraits> = {}) =>
    written(conversationOf([hi]), outputText(name, traits), {
      ...{ effort: effort === undefined ? undefined : effortOf(effort), client: 'responses', ...over },
    })

  it('is requested as an effort where the model decides how long it thinks', () => {
    expect(think('anthropic', 'high').body).toMatchObject({
      ...{ thinking: { type: 'adaptive' }, output_config: { effort: 'high' }, max_tokens: 8_000 },
    })
    expect(think('anthropic', 'ultra').body.output_config).toEqual({ effort: 'max' })
    expect(think('anthropic', 'none').body.thinking).toEqual({ type: 'disabled' })
    expect(think('anthropic', 'none').body.output_config).toBeUndefined()
    expect(think('anthropic', undefined).body.thinking).toBeUndefined()
  })

  it('is as little as possible for a model whose thinking cannot be switched off', () => {
    const between = { efforts: { none: 'between_tools', low: 'low' } }
    expect(think('anthropic', 'none', {}, between).body.thinking).toEqual({ type: 'between_tools' })
    const always = think('anthropic', 'none', {}, { efforts: { low: 'low' } })
    expect(always.body).toMatchObject({ thinking: { type: 'adaptive' }, output_config: { effort: 'low' } })
  })

  it('has a budget inside the cap, and is left out and named where there is no room', () => {
    expect(think('generic', 'low').body.thinking).toEqual({ type: 'enabled', budget_tokens: 4_000 })
    const tight = think('generic', 'high')
    expect(tight.body).toMatchObject({ max_tokens: 8_000, thinking: { budget_tokens: 6_000 } })
    expect(tight.leftOut).toEqual([])
    const cramped = think('generic', 'high', { outputCap: 1_300 })
    expect(cramped.body).toMatchObject({ max_tokens: 1_300, thinking: { type: 'disabled' } })
    expect(cramped.leftOut).toEqual(['reasoning.effort'])
    expect(think('generic', 'unheard-of', { client: 'chat' }).leftOut).toEqual(['reasoning_effort'])
  })

  it('with a budget gives way to a tool that has to be called', () => {
    const tool = { type: 'function', name: 'look', namespace: undefined, description: undefined } as const
    const conversation = conversationOf([hi], {
      tools: [{ ...tool, parameters: undefined, strict: undefined }],
      toolChoice: { type: 'required' },
    })
    const { body, leftOut } = written(conversation, outputText('generic'), { effort: effortOf('low') })
    expect(body).toMatchObject({ thinking: { type: 'disabled' }, tool_choice: { type: 'any' } })
    expect(leftOut).toEqual(['reasoning.effort'])
  })

  it('is summarised for clients that request a summary, and for Chat clients that request an effort', () => {
    const summary = conversationOf([hi], { reasoning: { summary: 'auto' } })
    const shown = { type: 'adaptive', display: 'summarized' }
    const ways = [undefined, 'low'].map((effort) => (effort === undefined ? {} : { effort: effortOf(effort) }))
    for (const way of ways) {
      expect(written(summary, outputText('anthropic'), { client: 'responses', ...way }).body.thinking).toEqual(shown)
    }
    expect(think('anthropic', 'low', { client: 'chat' }).body.thinking).toEqual(shown)
    expect(think('generic', 'low', { client: 'chat' }).body.thinking).not.toHaveProperty('display')
    expect(written(summary, outputText('generic'), { client: 'responses' }).body.thinking).toBeUndefined()
  })

  it('that is bound to another prefix is left out by the server where its operator lets it', () => {
    expect(written(conversationOf([hi])).body).not.toHaveProperty('block_binding')
    const dropping = { dropsUnbound: true }
    const { body } = written(conversationOf([hi]), outputText('anthropic'), dropping)
    expect(body.block_binding).toEqual({ prefix_mismatch_behavior: 'drop_block' })
    const taught = { ...outputText('anthropic'), withoutFields: ['block_binding'] }
    expect(written(conversationOf([hi]), taught, dropping).body).not.toHaveProperty('block_binding')
  })

  it('that a server has refused is not requested again', () => {
    const taught = { ...outputText('anthropic'), withoutFields: ['thinking', 'output_config', 'cache_control'] }
    const { body, leftOut } = written(conversationOf([hi]), taught, {
      ...{ effort: effortOf('low'), promptCache: 'conversation' },
    })
    expect(body).toEqual({ model: 'lane', max_tokens: 8_000, stream: true, messages: body.messages })
    expect(JSON.stringify(body)).not.toContain('cache_control')
    expect(leftOut).toEqual(['reasoning.effort'])
  })

  it('of before goes back as it came, but not to a model that is not to think', () => {
    const block = thinking('hm')
    const items = [hi, sealed(block), message('assistant', 'a'), message('user', 'b')]
    const emitted = (effort: string) =>
      written(conversationOf(items), outputText('anthropic'), { effort: effortOf(effort) }).body.messages[1]?.content
    expect(emitted('low')).toEqual([block, { type: 'text', text: 'a' }])
    expect(emitted('none')).toEqual([{ type: 'text', text: 'a' }])
  })
})
