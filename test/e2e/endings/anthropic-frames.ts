import { USAGE, WORDS } from '../../fakes/chat-frames.ts'
import { type Finish, NOTHING_IN_ONE_PIECE, PAGE, type ProviderFrames } from './provider-frames.ts'

/** In the words of Messages the input is counted before the first of them, and the reason comes with the other counts. */
export function anthropicFrames(model: string): ProviderFrames {
  let emitted = 0
  let isOpen = false
  let why: Finish | undefined
  const emit = (text: string) => [{ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }]
  const itemEnd = () => {
    if (!isOpen) return []
    isOpen = false
    return [{ type: 'content_block_stop', index: 0 }]
  }
  return {
    begin() {
      isOpen = true
      const { output_tokens: _output, ...input } = messagesUsage(USAGE)
      const message = { id: 'msg_theirs', type: 'message', role: 'assistant', model, content: [], stop_reason: null }
      return [
        { type: 'message_start', message: { ...message, usage: { ...input, output_tokens: 1 } } },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      ]
    },
    word: () => emit(WORDS[emitted++] ?? ''),
    page: () => emit(PAGE),
    itemEnd,
    finish(reason) {
      why = reason
      return itemEnd()
    },
    usage(counts) {
      const reason = why === undefined ? null : why === 'stop' ? 'end_turn' : 'max_tokens'
      const usage = counts === null ? null : messagesUsage(counts as Counts)
      return [{ type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage }]
    },
    done: () => [JSON.stringify({ type: 'message_stop' })],
    error: () => [{ type: 'error', error: { type: 'api_error', message: 'Broken.' } }],
    whole: NOTHING_IN_ONE_PIECE,
  }
}

type Counts = Partial<typeof USAGE>

/** Apart from what came from the cache. */
const messagesUsage = ({ prompt_tokens = 0, completion_tokens, prompt_tokens_details: details }: Counts) => ({
  input_tokens: prompt_tokens - (details?.cached_tokens ?? 0),
  cache_read_input_tokens: details?.cached_tokens ?? 0,
  output_tokens: completion_tokens,
})
