import { describe, expect, it } from 'vitest'
import { conversationOf, message, requestOf } from '../../../test/fixtures/protocols/chat/translate.ts'
import { laneTarget, relayTarget } from '../../../test/fixtures/protocols/lane-target.ts'
import { effortOf, PLAIN_TRAITS } from '../../model/effort.ts'
import { withTraits } from '../shared/lane-target.ts'
import { CHAT_DIALECTS, chatDialect } from './dialects.ts'
import { rewriteRequest, writeRequest } from './write-request.ts'

type Spellings = Readonly<Record<string, string | number>>

interface Asked {
  readonly spellings?: Spellings
  readonly withoutFields?: readonly string[]
  readonly outputCap?: number
}

const MESSAGES = [{ role: 'user', content: 'hi' }]
const ORDINARY = new Set(['model', 'messages', 'stream', 'stream_options', 'max_tokens', 'max_completion_tokens'])

const emittedBeside = (body: string | Buffer): object =>
  Object.fromEntries(Object.entries(JSON.parse(String(body))).filter(([name]) => !ORDINARY.has(name)))

const dialectOf = (name: string, { spellings, withoutFields }: Asked) => {
  const dialect = withTraits(chatDialect(name), spellings === undefined ? {} : { traits: { efforts: spellings } })
  return { ...dialect, withoutFields: [...dialect.withoutFields, ...(withoutFields ?? [])] }
}

function relayed(name: string, effort: string, asked: Asked = {}, body: object = {}) {
  const request = requestOf({ messages: MESSAGES, ...body })
  const { outputCap = 99_999 } = asked
  const target = relayTarget(dialectOf(name, asked), { effort: effortOf(effort), outputCap })
  const sent = rewriteRequest(request, target)
  return { emitted: emittedBeside(sent.body), leftOut: sent.leftOut }
}

function translated(name: string, effort: string, asked: Asked = {}) {
  const { outputCap = 99_999 } = asked
  const target = laneTarget(dialectOf(name, asked), { effort: effortOf(effort), outputCap })
  const { body, leftOut } = writeRequest(conversationOf([message('user', 'hi')]), target)
  return { emitted: emittedBeside(JSON.stringify(body)), leftOut }
}

/** What a lane is told on either road, which is the same; the effort is named when something of it is lost. */
function delivered(name: string, effort: string, asked: Asked = {}): object | 'nothing' {
  const [relay, translation] = [relayed(name, effort, asked), translated(name, effort, asked)]
  expect(translation.emitted).toEqual(relay.emitted)
  const isLost = relay.leftOut.includes('reasoning_effort')
  expect(translation.leftOut).toEqual(isLost ? ['reasoning.effort'] : [])
  expect(relay.leftOut).toEqual(isLost ? ['reasoning_effort'] : [])
  if (!isLost) return relay.emitted
  return Object.keys(relay.emitted).length === 0 ? 'nothing' : { ...relay.emitted, lost: true }
}

describe('an effort', () => {
  it('goes as its client wrote it where nothing is known of the model', () => {
    for (const { name, traits } of CHAT_DIALECTS.filter(({ effort }) => effort !== 'object')) {
      if (traits.efforts === undefined) expect(delivered(name, 'strange')).toEqual({ reasoning_effort: 'strange' })
    }
    expect(delivered('openrouter', 'strange')).toEqual({ reasoning: { effort: 'strange' } })
  })

  it.each<[dialect: string, efforts: string, emitted: object]>([
    ['deepseek', 'none', { thinking: { type: 'disabled' } }],
    ['deepseek', 'minimal low', { thinking: { type: 'enabled' }, reasoning_effort: 'low' }],
    ['deepseek', 'medium high xhigh', { thinking: { type: 'enabled' }, reasoning_effort: 'high' }],
    ['deepseek', 'max ultra', { thinking: { type: 'enabled' }, reasoning_effort: 'max' }],
    ['moonshot', 'none', { thinking: { type: 'disabled' } }],
    ['moonshot', 'medium', { reasoning_effort: 'high' }],
    ['mistral', 'none minimal', { reasoning_effort: 'none' }],
    ['mistral', 'low medium high xhigh max', { reasoning_effort: 'high' }],
    ['alibaba', 'none', { enable_thinking: false }],
    ['alibaba', 'low', { enable_thinking: true, thinking_budget: 4096 }],
    ['alibaba', 'high max', { enable_thinking: true, thinking_budget: 24_576 }],
  ])('of a whole server is said in its words: %s, %s', (dialect, efforts, emitted) => {
    for (const effort of efforts.split(' ')) expect(delivered(dialect, effort)).toEqual(emitted)
  })

  it.each<[dialect: string, spelling: string | number, emitted: object | 'nothing']>([
    ['openai', 'low', { reasoning_effort: 'low' }],
    ['openai', 'disabled', { reasoning_effort: 'none' }],
    ['openai', 8000, 'nothing'],
    ['groq', 'default', { reasoning_effort: 'default' }],
    ['openrouter', 'high', { reasoning: { effort: 'high' } }],
    ['openrouter', 8000, { reasoning: { max_tokens: 8000 } }],
    ['openrouter', 'disabled', { reasoning: { effort: 'none' } }],
    ['alibaba', 'high', { enable_thinking: true }],
    ['deepseek', 8000, 'nothing'],
    ['vllm', 'high', { reasoning_effort: 'high' }],
    ['vllm', 'disabled', { chat_template_kwargs: { enable_thinking: false } }],
    ['llamacpp', 'disabled', { chat_template_kwargs: { enable_thinking: false } }],
    ['llamacpp', 8000, 'nothing'],
    ['google-vertex', 8000, { extra_body: { google: { thinking_config: { thinking_budget: 8000 } } } }],
    ['google-vertex', 'disabled', { extra_body: { google: { thinking_config: { thinking_budget: 0 } } } }],
    ['anthropic-compat', 8000, { thinking: { type: 'enabled', budget_tokens: 8000 } }],
    ['vercel-gateway', 8000, { reasoning: { max_tokens: 8000 } }],
  ])('that the catalogue spells for a model of %s as %s is said so', (dialect, spelling, emitted) => {
    expect(delivered(dialect, 'high', { spellings: { high: spelling } })).toEqual(emitted)
  })

  it('that no effort of the model is near to is left out and reported', () => {
    expect(delivered('openai', 'strange', { spellings: { low: 'low' } })).toBe('nothing')
    expect(delivered('openai', 'high', { spellings: {} })).toBe('nothing')
  })

  it('as a number of tokens leaves room for the answer; a budget that does not fit is none', () => {
    const budget = (spelling: number, outputCap: number) =>
      delivered('openrouter', 'high', { spellings: { high: spelling }, outputCap })
    expect(budget(8000, 5000)).toEqual({ reasoning: { max_tokens: 3750 } })
    expect(budget(8000, 1366)).toEqual({ reasoning: { max_tokens: 1024 } })
    expect(budget(8000, 1365)).toBe('nothing')
    expect(budget(100, 134)).toEqual({ reasoning: { max_tokens: 100 } })
    expect(budget(100, 133)).toBe('nothing')
  })

  it('leaves out the fields that the server has turned out not to take, and is named', () => {
    expect(delivered('deepseek', 'high', { withoutFields: ['thinking'] })).toEqual({
      reasoning_effort: 'high',
      lost: true,
    })
    expect(delivered('openrouter', 'high', { withoutFields: ['reasoning'] })).toBe('nothing')
  })

  it('finds a prototype’s name as little as any other', () => {
    for (const effort of ['constructor', '__proto__', 'tostring']) expect(delivered('deepseek', effort)).toBe('nothing')
  })
})

describe('a switch of the server’s own, written by the client', () => {
  const SWITCHES: [dialect: string, body: object][] = [
    ['deepseek', { thinking: { type: 'disabled' } }],
    ['moonshot', { thinking: { type: 'disabled' } }],
    ['alibaba', { enable_thinking: false, thinking_budget: 5 }],
    ['mistral', { prompt_mode: 'reasoning' }],
    ['anthropic-compat', { thinking: { type: 'enabled', budget_tokens: 2000 } }],
  ]

  it.each(SWITCHES)('of %s passes as it is where no effort is asked for', (name, body) => {
    const request = requestOf({ messages: MESSAGES, ...body })
    const sent = rewriteRequest(request, relayTarget(dialectOf(name, {})))
    expect(sent.leftOut).toEqual([])
    expect(emittedBeside(sent.body)).toEqual(body)
  })

  it.each(SWITCHES)('of %s goes beside an effort, which it could contradict, and is named', (name, body) => {
    const { emitted, leftOut } = relayed(name, 'high', {}, body)
    expect(emitted).toEqual(translated(name, 'high').emitted)
    expect(leftOut).toEqual(Object.keys(body))
  })

  it('stays where the effort could not be expressed, because nothing contradicts it', () => {
    const theirs = { thinking: { type: 'disabled' } }
    expect(relayed('deepseek', 'high', { spellings: {} }, theirs)).toEqual({
      emitted: theirs,
      leftOut: ['reasoning_effort'],
    })
  })

  it('keeps the other arguments of a template', () => {
    const asked = { spellings: { none: 'disabled' } }
    const theirs = { chat_template_kwargs: { enable_thinking: true, documents: [1.5] } }
    expect(relayed('vllm', 'none', asked, theirs)).toEqual({
      emitted: { chat_template_kwargs: { enable_thinking: false, documents: [1.5] } },
      leftOut: [],
    })
    for (const odd of ['x', 7, [], true]) {
      expect(relayed('vllm', 'none', asked, { chat_template_kwargs: odd }).emitted).toEqual({
        chat_template_kwargs: { enable_thinking: false },
      })
    }
  })

  it('is known for every manner that puts one', () => {
    for (const { effort, effortSwitches, extraFields } of CHAT_DIALECTS) {
      const isPassed = !['word', 'object', 'template', 'google'].includes(effort)
      if (isPassed) expect(effortSwitches).not.toEqual([])
      for (const name of effortSwitches) expect(extraFields).toContain(name)
    }
  })
})

it('a model without sampling gets no sampling fields, relayed or translated, and the client learns it', () => {
  const sampling = {
    ...{ temperature: 0.5, topP: 0.5, presencePenalty: 1, frequencyPenalty: 1, stop: [], seed: undefined },
    ...{ logitBias: { 5: 1 }, topLogprobs: 2 },
  }
  const asked = {
    ...{ temperature: 0.5, top_p: 0.5, presence_penalty: 1, frequency_penalty: 1, logit_bias: { 5: 1 } },
    ...{ logprobs: true, top_logprobs: 2, top_k: 3 },
  }
  const dialect = withTraits(chatDialect('vllm'), { traits: { ...PLAIN_TRAITS, sampling: false } })
  const request = requestOf({ messages: MESSAGES, ...asked })
  const sent = rewriteRequest(request, relayTarget(dialect))
  expect(new Set(sent.leftOut)).toEqual(new Set(Object.keys(asked)))
  expect(emittedBeside(sent.body)).toEqual({})
  const written = writeRequest(conversationOf([message('user', 'hi')], { sampling }), laneTarget(dialect))
  expect(emittedBeside(JSON.stringify(written.body))).toEqual({})
  const { top_k: _vendors, logprobs: _nested, ...named } = asked
  expect(new Set(written.leftOut)).toEqual(new Set([...Object.keys(named), 'include']))
})
