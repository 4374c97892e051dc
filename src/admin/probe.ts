import type { Lane } from '../catalog/catalog.ts'
import { Stopper } from '../lib/stop-signal.ts'
import { type Conversation, EMPTY_CONVERSATION, userMessage } from '../model/conversation.ts'
import type { FinishReason, TurnEvent } from '../model/event.ts'
import type { Usage } from '../model/usage.ts'
import { type LaneDialect, codecs } from '../protocols/codecs.ts'
import { type ProviderError, type RefusalClass, type UpstreamError, classifyRefusal, readProviderError, refusedField } from '../protocols/refusals/provider-error.ts'
import type { EventReader, MintIds } from '../protocols/shared/codec-types.ts'
import { FrameTooLarge, createFrameSplitter } from '../protocols/sse/frames.ts'
import type { DeadlinePhase } from '../providers/deadlines.ts'
import type { Send } from '../providers/send.ts'
import { type UpstreamAnswer, type UpstreamFailed, UpstreamTimedOut, readBeginning, readRetryAfter } from '../providers/upstream-answer.ts'
import { createLearnedCapabilities, laneDialect } from '../routing/learned-capabilities.ts'

export interface ProbeServices {
  readonly send: Send
  readonly mint: MintIds
  readonly frameBytesMax: number
  /** Milliseconds since 1970, for a date that a provider names. */
  readonly now: () => number
  /** Monotonic microseconds. */
  readonly nowMicros: () => number
}

/** What came of asking a lane for a word, in the terms of those who asked. */
export type ProbeResult =
  | { readonly kind: 'failed'; readonly failure: UpstreamFailed }
  | {
      readonly kind: 'refused'
      readonly means: RefusalClass
      readonly error: ProviderError
      readonly retryAfterMs: number | undefined
    }
  | ProbeAnswer

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
export async function probe(
  deps: ProbeServices,
  lane: Lane,
): Promise<{ readonly asked: ProbeResult; readonly without: readonly string[] }> {
  const lessons = createLearnedCapabilities()
  const without: string[] = []
  for (;;) {
    const dialect = lessons.dialectOf(lane.id, laneDialect(lane))
    const asked = await askOnce(deps, lane, dialect)
    const mayLearn = asked.kind === 'refused' && asked.means === 'unsupported-field' && without.length < LESSONS_MAX
    if (!mayLearn || !lessons.learn(lane.id, dialect, asked.error)) return { asked, without }
    without.push(refusedField(asked.error)?.names[0] ?? '')
  }
}

async function askOnce(deps: ProbeServices, lane: Lane, dialect: LaneDialect): Promise<ProbeResult> {
  const { upstream, model, origin } = lane
  const written = codecs.writeRequest(QUESTION, {
    ...{ model, origin, dialect, outputCap: OUTPUT_CAP },
    ...{ effort: undefined, delivery: 'stream', promptCache: 'off', cacheSalt: undefined, client: 'chat' },
  })
  const body = Buffer.from(JSON.stringify(written.body))
  const since = deps.nowMicros()
  const outcome = await deps.send({ upstream, model, body, delivery: 'stream', signal: new Stopper() })
  if (outcome.kind === 'failed') return { kind: 'failed', failure: outcome }
  if (outcome.status >= 400) {
    const error = readProviderError(outcome.status, await readBeginning(outcome.body))
    return refusedBy(error, readRetryAfter(outcome.headers, deps.now()))
  }
  const state = await readProbeAnswer(
    { ...deps, since },
    outcome,
    codecs.createEventReader({ dialect, origin }, deps.mint),
  )
  return state.kind === 'error' ? refusedBy({ ...state.said, status: undefined, param: undefined }) : state
}

const refusedBy = (error: ProviderError, retryAfterMs = error.retryAfterMs): ProbeResult => ({
  kind: 'refused',
  means: classifyRefusal(error),
  error,
  retryAfterMs,
})

/** What a lane has said to a question. */
type ProbeAnswer =
  | ({ readonly kind: 'answered'; readonly finish: FinishReason } & HeardFacts)
  /** In its own language, and not to the end; `expired` where it was we who could not wait. */
  | { readonly kind: 'broken-off'; readonly expired: DeadlinePhase | undefined }
  /** It goes on and on, whatever its cap was. */
  | { readonly kind: 'endless' }
  /** Nothing of the lane's language: a page, plain JSON, nothing at all. */
  | { readonly kind: 'foreign'; readonly contentType: string | undefined; readonly isEmpty: boolean }

interface HeardFacts {
  /** Undefined: it has said nothing that anybody could read. */
  readonly firstWordMs: number | undefined
  readonly totalMs: number
  readonly usage: Usage | undefined
  /** What it calls itself. */
  readonly model: string | undefined
}

interface HearDeps {
  readonly nowMicros: () => number
  readonly frameBytesMax: number
  /** When it was asked. */
  readonly since: number
}

/** Nobody answers a question of two words with more than this. */
const BYTES_MAX = 256 * 1024
/** So long its counts are waited for, once it has said why it ends. */
const COUNTS_MS = 5000

/** Reads a streamed answer with the ears of its wire. */
async function readProbeAnswer(
  deps: HearDeps,
  answer: UpstreamAnswer,
  reader: EventReader,
): Promise<ProbeAnswer | { readonly kind: 'error'; readonly said: UpstreamError }> {
  const told: Told = { events: 0, bytes: 0, firstWordMs: undefined, finish: undefined, model: undefined }
  const splitter = createFrameSplitter(deps)
  const { state } = reader
  let timer: NodeJS.Timeout | undefined
  let failure: unknown
  try {
    while (!state.done && state.invalid === undefined && state.error === undefined && told.bytes <= BYTES_MAX) {
      const read = await answer.body.read()
      if (read.length === 0) break
      for (const chunk of read) splitter.push(chunk)
      for (let frame = splitter.next(); frame !== undefined; frame = splitter.next()) listen(deps, told, reader, frame)
      if (state.finished) timer ??= setTimeout(() => answer.body.cancel(), COUNTS_MS)
    }
  } catch (error) {
    failure = error
  }
  clearTimeout(timer)
  answer.body.cancel()
  if (state.error !== undefined) return { kind: 'error', said: state.error }
  const { finish } = told
  if (state.finished && finish !== undefined) {
    const { firstWordMs, model } = told
    return { kind: 'answered', finish, firstWordMs, model, usage: state.usage, totalMs: sinceAsked(deps) }
  }
  if (told.bytes > BYTES_MAX) return { kind: 'endless' }
  if (failure instanceof UpstreamTimedOut) return { kind: 'broken-off', expired: failure.phase }
  const isForeign = told.events === 0 && (failure === undefined || failure instanceof FrameTooLarge)
  return isForeign ? foreign(answer, splitter.rest(), told) : { kind: 'broken-off', expired: undefined }
}

interface Told {
  /** Pieces of an answer that could be read. */
  events: number
  bytes: number
  firstWordMs: number | undefined
  finish: FinishReason | undefined
  model: string | undefined
}

const sinceAsked = ({ nowMicros, since }: HearDeps): number => Math.round((nowMicros() - since) / 1000)

function listen(deps: HearDeps, told: Told, reader: EventReader, frame: Buffer): void {
  told.bytes += frame.length
  told.model ??= modelIn(frame)
  for (const event of reader.read(frame)) {
    told.events += 1
    if (event.type === 'turn-end') told.finish = event.reason
    if (isWord(event)) told.firstWordMs ??= sinceAsked(deps)
  }
}

const isWord = (event: TurnEvent): boolean => event.type === 'tool-call-start' || ('text' in event && event.text !== '')

/** Every wire has its model under one of two names; inside of words the quotes would be escaped. */
const MODEL_NAME = /"(?:model|modelVersion)"\s*:\s*"([^"\\]{1,200})"/

const modelIn = (frame: Buffer): string | undefined => MODEL_NAME.exec(frame.toString('utf8'))?.[1]

/** Some servers refuse with plain JSON although a stream was asked for, and with 200 although they refuse. */
function foreign(
  { headers }: UpstreamAnswer,
  rest: Buffer,
  { bytes }: Told,
): ProbeAnswer | { readonly kind: 'error'; readonly said: UpstreamError } {
  if (rest[0] === OPENING_BRACE && /"(?:error|detail)"/.test(rest.toString('utf8', 0, 4096))) {
    return { kind: 'error', said: readProviderError(undefined, rest) }
  }
  return { kind: 'foreign', contentType: headers['content-type'], isEmpty: bytes + rest.length === 0 }
}

const OPENING_BRACE = 0x7b
