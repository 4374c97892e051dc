import { describe, expect, it } from 'vitest'
import { outputText, written } from '../../../test/fixtures/protocols/anthropic/messages.ts'
import { conversationOf, message } from '../../../test/fixtures/protocols/conversation.ts'
import { type Conversation, NO_SAMPLING, type Sampling } from '../../model/conversation.ts'
import { effortOf } from '../../model/effort.ts'

const asked = (over: Partial<Conversation>, dialect = outputText('generic'), effort?: string) =>
  written(conversationOf([message('user', 'hi')], over), dialect, {
    ...(effort === undefined ? {} : { effort: effortOf(effort) }),
  })
const sampled = (sampling: Partial<Sampling>, dialect = outputText('generic'), effort?: string) => {
  const { body, leftOut } = asked({ sampling: { ...NO_SAMPLING, ...sampling } }, dialect, effort)
  const { temperature, top_p, stop_sequences } = body
  return { temperature, top_p, stop_sequences, leftOut }
}

describe('sampling', () => {
  it('goes up to 1, and by one of the two', () => {
    expect(sampled({ temperature: 1.5 })).toMatchObject({ temperature: 1, leftOut: [] })
    expect(sampled({ temperature: 0 })).toMatchObject({ temperature: 0 })
    expect(sampled({ topP: 0.5 })).toMatchObject({ top_p: 0.5, leftOut: [] })
    expect(sampled({ temperature: 0.5, topP: 0.5 })).toEqual({ temperature: 0.5, leftOut: ['top_p'] })
  })

  it('is left out and named for a model that takes none, or that thinks', () => {
    const both = { temperature: 0.5, topP: 0.5 }
    expect(sampled(both, outputText('anthropic'))).toEqual({ leftOut: ['temperature', 'top_p'] })
    expect(sampled(both, outputText('generic'), 'low')).toEqual({ leftOut: ['temperature', 'top_p'] })
    expect(sampled({ temperature: 1 }, outputText('generic'), 'low')).toMatchObject({ temperature: 1 })
    expect(sampled({ topP: 0.99 }, outputText('generic'), 'low')).toMatchObject({ top_p: 0.99 })
    expect(sampled(both, outputText('generic'), 'none')).toMatchObject({ temperature: 0.5 })
  })

  it('stops at what is not only spaces', () => {
    expect(sampled({ stop: ['a', ' \n'] })).toMatchObject({ stop_sequences: ['a'], leftOut: ['stop'] })
    expect(sampled({ stop: [''] })).toEqual({ leftOut: ['stop'] })
    expect(sampled({ stop: ['a'] })).toMatchObject({ leftOut: [] })
  })
})

describe('the user', () => {
  const identity = (user: string | undefined, safetyIdentifier: string | undefined) => {
    const { body, leftOut } = asked({ identity: { user, safetyIdentifier, promptCacheKey: undefined } })
    return [body.metadata, leftOut]
  }

  it('is one id, the one that is for this where there are two', () => {
    expect(identity('u', undefined)).toEqual([{ user_id: 'u' }, []])
    expect(identity('u', 's')).toEqual([{ user_id: 's' }, ['user']])
    expect(identity('u', 'x'.repeat(257))).toEqual([{ user_id: 'u' }, ['safety_identifier']])
    expect(identity(undefined, undefined)).toEqual([undefined, []])
  })
})

it('what has no counterpart is named as the client knows it', () => {
  const sampling = { presencePenalty: 1, frequencyPenalty: 0, seed: 1, logitBias: { 5: 1 }, topLogprobs: 2 }
  const conversation = conversationOf([message('user', 'hi')], {
    ...{ sampling: { ...NO_SAMPLING, ...sampling }, verbosity: 'low' },
    identity: { user: undefined, safetyIdentifier: undefined, promptCacheKey: 'k' },
  })
  const named = (client: 'chat' | 'responses') => written(conversation, outputText('generic'), { client }).leftOut
  expect(named('chat')).toEqual([
    ...['presence_penalty', 'seed', 'logit_bias', 'logprobs', 'top_logprobs', 'verbosity', 'prompt_cache_key'],
  ])
  expect(named('responses')).toEqual([
    ...['presence_penalty', 'seed', 'logit_bias', 'include', 'top_logprobs', 'text.verbosity', 'prompt_cache_key'],
  ])
})
