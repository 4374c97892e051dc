import { type USAGE, WORDS } from '../../fakes/chat-frames.ts'
import { NOTHING_IN_ONE_PIECE, PAGE, type ProviderFrames } from './provider-frames.ts'

/** In the words of generateContent every piece is a chunk of its own, and nothing says that there will be no more. */
export function geminiFrames(modelVersion: string): ProviderFrames {
  let emitted = 0
  const chunk = (text: string, more: object = {}) => [
    { candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, ...more }], modelVersion },
  ]
  return {
    begin: () => [{ modelVersion, responseId: 'theirs' }],
    word: () => chunk(WORDS[emitted++] ?? ''),
    page: () => chunk(PAGE),
    itemEnd: () => [],
    finish: (why) => chunk('', { finishReason: why === 'stop' ? 'STOP' : 'MAX_TOKENS' }),
    usage: (counts) => [{ usageMetadata: counts === null ? null : contentsUsage(counts as Counts), modelVersion }],
    done: () => [],
    error: () => [{ error: { code: 503, message: 'Broken.', status: 'UNAVAILABLE' } }],
    whole: NOTHING_IN_ONE_PIECE,
  }
}

type Counts = Partial<typeof USAGE>

const contentsUsage = ({ prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details: details }: Counts) => ({
  promptTokenCount: prompt_tokens,
  candidatesTokenCount: completion_tokens,
  totalTokenCount: total_tokens,
  ...(details === undefined ? {} : { cachedContentTokenCount: details.cached_tokens }),
})
