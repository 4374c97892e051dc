import { chunk, errorBody, reply, usageChunk, WHOLE_TEXT, WORDS } from '../../fakes/chat-frames.ts'

/** The language that a provider speaks. */
export type Wire = 'chat' | 'responses' | 'anthropic' | 'gemini'

export type Finish = 'stop' | 'length'

/** One answer of a provider, piece by piece: what each piece says depends on what was said before. */
export interface ProviderFrames {
  begin(): readonly object[]
  word(): readonly object[]
  /** Much at once. */
  page(): readonly object[]
  /** The last word has been said; why the answer ends has not. */
  itemEnd(): readonly object[]
  /** In the words of Responses and Messages the reason comes with the counts, and this says nothing of it yet. */
  finish(why: Finish): readonly object[]
  /** As the chat wire names counts; null for none. */
  usage(counts: unknown): readonly object[]
  done(): readonly string[]
  error(): readonly object[]
  /** The same answer in one piece. */
  whole(finish: Finish, usage: unknown): object
}

export const PAGE = 'and so on '.repeat(100)

/** Who is always asked for a stream has no answer in one piece. */
export const NOTHING_IN_ONE_PIECE = (): never => {
  throw new Error('this provider is never asked for JSON')
}

export function chatFrames(model: string): ProviderFrames {
  let emitted = 0
  return {
    begin: () => [chunk(model, { delta: { role: 'assistant', content: '' } })],
    word: () => [chunk(model, { delta: { content: WORDS[emitted++] } })],
    page: () => [chunk(model, { delta: { content: PAGE } })],
    itemEnd: () => [],
    finish: (why) => [chunk(model, { finish: why })],
    usage: (counts) => [usageChunk(model, counts)],
    done: () => ['[DONE]'],
    error: () => [errorBody('Broken.')],
    whole: (finish, usage) => reply(model, { finish, more: { usage } }),
  }
}

const ITEM = { type: 'message', id: 'msg_theirs', role: 'assistant' } as const
const textPart = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] })

export function responsesFrames(model: string): ProviderFrames {
  let sequence = 0
  let emitted = 0
  let text = ''
  let item: object | undefined
  let why: Finish | undefined
  const event = (type: string, fields: object) => ({ type, ...fields, sequence_number: sequence++ })
  const at = { item_id: ITEM.id, output_index: 0, content_index: 0 }
  const response = (status: string, more: object = {}) => ({
    ...{ id: 'resp_theirs', object: 'response', created_at: 1_700_000_000, status, model },
    ...{ output: item ? [item] : [], usage: null, error: null, incomplete_details: null, store: false, ...more },
  })
  const ended = (finish: Finish, usage: unknown) => {
    const counts = responsesUsage(usage)
    if (finish === 'stop') return response('completed', { usage: counts })
    return response('incomplete', { usage: counts, incomplete_details: { reason: 'max_output_tokens' } })
  }
  /** An item that the output cap has cut says so itself. */
  const itemAs = (finish: Finish, words: string) => ({
    ...ITEM,
    status: finish === 'stop' ? 'completed' : 'incomplete',
    content: [textPart(words)],
  })
  const itemEnd = (finish: Finish = 'stop') => {
    if (item) return []
    item = itemAs(finish, text)
    return [
      event('response.output_text.done', { ...at, text, logprobs: [] }),
      event('response.content_part.done', { ...at, part: textPart(text) }),
      event('response.output_item.done', { output_index: 0, item }),
    ]
  }
  const emit = (delta: string) => {
    text += delta
    return [event('response.output_text.delta', { ...at, delta, logprobs: [] })]
  }
  return {
    begin: () => [
      event('response.created', { response: response('in_progress') }),
      event('response.in_progress', { response: response('in_progress') }),
      event('response.output_item.added', { output_index: 0, item: { ...ITEM, status: 'in_progress', content: [] } }),
      event('response.content_part.added', { ...at, part: textPart('') }),
    ],
    word: () => emit(WORDS[emitted++] ?? ''),
    page: () => emit(PAGE),
    itemEnd: () => itemEnd(),
    finish(reason) {
      why = reason
      return itemEnd(reason)
    },
    usage(counts) {
      if (!why)
        return [event('response.in_progress', { response: response('in_progress', { usage: responsesUsage(counts) }) })]
      const last = ended(why, counts)
      return [event(`response.${last.status}`, { response: last })]
    },
    done: () => [],
    error: () => [event('error', { code: 'server_error', message: 'Broken.', param: null })],
    whole(finish, usage) {
      item = itemAs(finish, WHOLE_TEXT)
      return ended(finish, usage)
    },
  }
}

const NAMES: Readonly<Record<string, string>> = {
  prompt_tokens: 'input_tokens',
  completion_tokens: 'output_tokens',
  total_tokens: 'total_tokens',
  prompt_tokens_details: 'input_tokens_details',
}

const responsesUsage = (counts: unknown): object | null =>
  counts === null
    ? null
    : Object.fromEntries(Object.entries(counts as object).map(([name, count]) => [NAMES[name] ?? name, count]))
