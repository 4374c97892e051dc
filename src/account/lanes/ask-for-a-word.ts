import type { Lane } from '../../catalog/catalog.ts'
import { Stopper } from '../../lib/stop-signal.ts'
import { type Conversation, EMPTY_CONVERSATION, userMessage } from '../../model/conversation.ts'
import { laneDialect } from '../../routing/lane-dialect.ts'
import { createLaneLessons } from '../../routing/lane-lessons.ts'
import type { Send } from '../../upstream/send.ts'
import { readBeginning, readRetryAfter, type UpstreamFailed } from '../../upstream/upstream-answer.ts'
import { codecs, type LaneDialect } from '../../wire/codecs.ts'
import type { MintIds } from '../../wire/mint-ids.ts'
import { classifyRefusal, type RefusalClass } from '../../wire/refusals/classify-refusal.ts'
import { type ProviderError, readProviderError } from '../../wire/refusals/provider-error.ts'
import { refusedField } from '../../wire/refusals/refused-field.ts'
import { type HeardWord, hearWord } from './hear-word.ts'

export interface WordDeps {
  readonly send: Send
  readonly mint: MintIds
  readonly frameBytesMax: number
  /** Milliseconds since 1970, for a date that a provider names. */
  readonly now: () => number
  /** Monotonic microseconds. */
  readonly ticks: () => number
}

/** What came of asking a lane for a word, in the terms of those who asked. */
export type AskedWord =
  | { readonly kind: 'failed'; readonly failure: UpstreamFailed }
  | {
      readonly kind: 'refused'
      readonly means: RefusalClass
      readonly error: ProviderError
      readonly retryAfterMs: number | undefined
    }
  | HeardWord

/** Small, because somebody pays for it; some providers take no less. */
export const OUTPUT_CAP = 16
const LESSONS_MAX = 3

const QUESTION: Conversation = {
  ...EMPTY_CONVERSATION,
  items: [userMessage('Say OK.')],
}

/**
 * Asks a lane as the server would: in its own words, as a stream, and again without what it turns out not to take. No account
 * pays for it, and no effort is asked for.
 */
export async function askForAWord(
  deps: WordDeps,
  lane: Lane,
): Promise<{ readonly asked: AskedWord; readonly without: readonly string[] }> {
  const lessons = createLaneLessons()
  const without: string[] = []
  for (;;) {
    const dialect = lessons.dialectOf(lane.id, laneDialect(lane))
    const asked = await askOnce(deps, lane, dialect)
    const mayLearn = asked.kind === 'refused' && asked.means === 'unsupported-field' && without.length < LESSONS_MAX
    if (!mayLearn || !lessons.learn(lane.id, dialect, asked.error)) return { asked, without }
    without.push(refusedField(asked.error)?.names[0] ?? '')
  }
}

async function askOnce(deps: WordDeps, lane: Lane, dialect: LaneDialect): Promise<AskedWord> {
  const { upstream, model, origin } = lane
  const written = codecs.writeRequest(QUESTION, {
    ...{ model, origin, dialect, outputCap: OUTPUT_CAP },
    ...{ effort: undefined, delivery: 'stream', promptCache: 'off', cacheSalt: undefined, client: 'chat' },
  })
  const body = Buffer.from(JSON.stringify(written.body))
  const since = deps.ticks()
  const outcome = await deps.send({ upstream, model, body, delivery: 'stream', signal: new Stopper() })
  if (outcome.kind === 'failed') return { kind: 'failed', failure: outcome }
  if (outcome.status >= 400) {
    const error = readProviderError(outcome.status, await readBeginning(outcome.body))
    return refusedBy(error, readRetryAfter(outcome.headers, deps.now()))
  }
  const heard = await hearWord({ ...deps, since }, outcome, codecs.createEventReader({ dialect, origin }, deps.mint))
  return heard.kind === 'error' ? refusedBy({ ...heard.said, status: undefined, param: undefined }) : heard
}

const refusedBy = (error: ProviderError, retryAfterMs = error.retryAfterMs): AskedWord => ({
  kind: 'refused',
  means: classifyRefusal(error),
  error,
  retryAfterMs,
})
