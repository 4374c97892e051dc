import type { Dice, EncodedFrame, Json } from './dice.ts'
import { wordsOf } from './values.ts'

/** An answer as servers stream it that speak Chat: one way of each server, mixed at will. */
export function chatFrames(dice: Dice): EncodedFrame[] {
  const { pick, onceIn, between } = dice
  const style = {
    indexed: !onceIn(4),
    custom: onceIn(6),
    reasoning: pick(['reasoning_content', 'reasoning', 'both', 'parts']),
    usage: pick(['last', 'last', 'with the end', 'always', 'groq', 'in the choice', 'never']),
  }
  const usage = () => ({
    prompt_tokens: between(0, 90),
    completion_tokens: between(0, 90),
    total_tokens: 100,
    ...(onceIn(2)
      ? { prompt_tokens_details: { cached_tokens: between(0, 50), cache_write_tokens: between(0, 9) } }
      : {}),
    ...(onceIn(2) ? { completion_tokens_details: { reasoning_tokens: between(0, 50) } } : {}),
    ...(onceIn(4) ? { prompt_cache_hit_tokens: between(0, 99) } : {}),
  })
  const chunk = (delta: Json, finish: string | null = null, over: Json = {}): EncodedFrame => {
    const choice = {
      ...(onceIn(9) ? {} : { index: 0 }),
      [onceIn(30) ? 'message' : 'delta']: delta,
      finish_reason: finish,
    }
    const withUsage = style.usage === 'always' ? { usage: usage() } : onceIn(2) ? { usage: null } : {}
    return {
      emitted: {
        id: 'c1',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'lane',
        choices: [choice],
        ...withUsage,
        ...over,
      },
    }
  }
  const logprobs = () => ({
    content: [{ token: 'a', logprob: -0.1, bytes: [97], top_logprobs: [{ token: 'b', logprob: -2, bytes: null }] }],
  })
  const thought = (): EncodedFrame => {
    const words = wordsOf(dice)
    if (style.reasoning === 'parts')
      return chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: words }] }] })
    if (style.reasoning === 'both') return chunk({ reasoning: words, reasoning_content: words })
    return chunk({ content: pick([null, '']), [style.reasoning]: words })
  }
  const emitted = (): EncodedFrame => {
    const words = wordsOf(dice)
    if (onceIn(12)) return chunk({ content: [{ type: 'text', text: words }, { type: 'image' }] })
    if (onceIn(12)) return chunk({ refusal: words })
    const { emitted } = chunk({ content: words })
    if (onceIn(8)) (emitted as { choices: Json[] }).choices[0]!.logprobs = logprobs()
    return { emitted }
  }
  const calls = (): EncodedFrame[] => {
    const first = between(0, 1)
    const begin = (at: number): EncodedFrame => {
      const address = { ...(style.indexed ? { index: at } : {}), ...(onceIn(8) ? {} : { id: `id${at}` }) }
      const name = onceIn(12) ? '' : `tool_${at}`
      if (style.custom) return chunk({ tool_calls: [{ ...address, type: 'custom', custom: { name, input: '' } }] })
      if (onceIn(20)) return chunk({ function_call: { name, arguments: wordsOf(dice) } })
      const args = pick<unknown>(['', '', '{"a":1}', { a: 1 }, wordsOf(dice)])
      return chunk({ tool_calls: [{ ...address, type: 'function', function: { name, arguments: args } }] })
    }
    const goOn = (at: number): EncodedFrame => {
      const address = { ...(style.indexed ? { index: at } : {}), ...(onceIn(4) ? { id: `id${at}` } : {}) }
      const words = wordsOf(dice)
      const fragment = style.custom
        ? { custom: { input: words } }
        : { function: { arguments: words, ...(onceIn(9) ? { name: '' } : {}) } }
      return chunk({ tool_calls: [{ ...address, ...fragment }] })
    }
    return Array.from({ length: between(1, 3) }, (_, at) => [
      begin(at + first),
      ...Array.from({ length: between(0, 4) }, () => goOn(pick([at + first, at + first, first]))),
    ]).flat()
  }
  const runs = (of: () => EncodedFrame): EncodedFrame[] => Array.from({ length: between(0, 6) }, of)
  const hasCalls = onceIn(3)
  const finish = onceIn(6)
    ? pick(['length', 'content_filter', 'eos', 'model_length', 'error', 'function_call'])
    : hasCalls
      ? pick(['tool_calls', 'stop'])
      : 'stop'
  const counted: Readonly<Record<string, Json>> = {
    'with the end': { usage: usage() },
    'in the choice': { choices: [{ index: 0, delta: {}, finish_reason: finish, usage: usage() }] },
    groq: { x_groq: { id: 'g', usage: usage() } },
  }
  return [
    ...(onceIn(5)
      ? []
      : [chunk({ role: 'assistant', content: pick(['', null]), ...(onceIn(2) ? { refusal: null } : {}) })]),
    ...(onceIn(2) ? runs(thought) : []),
    ...runs(emitted),
    ...(hasCalls ? calls() : []),
    ...(onceIn(5) ? runs(emitted) : []),
    chunk({}, finish, counted[style.usage] ?? {}),
    ...(style.usage === 'last' ? [{ emitted: { id: 'c1', choices: [], usage: usage() } }] : []),
    ...(onceIn(8) ? [] : [{ emitted: '[DONE]' }]),
  ]
}
