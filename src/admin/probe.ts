import type { Lane } from '../catalog/catalog.ts'
import { Stopper } from '../lib/async.ts'
import { type Conversation, EMPTY_CONVERSATION, userMessage } from '../model/conversation.ts'
import type { FinishReason } from '../model/event.ts'
import type { Usage } from '../model/price.ts'
import {
  classifyRefusal,
  type ProviderError,
  type RefusalClass,
  readProviderError,
  refusedField,
} from '../protocols/refusals/provider-error.ts'
import type { EventReader, MintIds } from '../protocols/shared/codec-types.ts'
import { FrameSplitter, FrameTooLarge } from '../protocols/sse/frames.ts'
import { codecs, type LaneDialect } from '../protocols/wires.ts'
import type { DeadlinePhase } from '../providers/deadlines.ts'
import type { Send } from '../providers/send.ts'
import {
  readBeginning,
  readRetryAfter,
  type UpstreamAnswer,
  type UpstreamFailed,
  UpstreamTimedOut,
} from '../providers/upstream-answer.ts'
import { createLearnedCapabilities } from '../routing/learned-capabilities.ts'

export interface ProbeServices {
  readonly send: Send
  readonly mint: MintIds
  readonly frameBytesMax: number
  /** Milliseconds since 1970, for a date in `Retry-After`. */
  readonly now: () => number
  /** Monotonic microseconds. */
  readonly nowMicros: () => number
}

export type ProbeResult =
  | { readonly kind: 'failed'; readonly failure: UpstreamFailed }
  | {
      readonly kind: 'refused'
      readonly means: RefusalClass
      readonly error: ProviderError
      readonly retryAfterMs: number | undefined
    }
  | {
      readonly kind: 'answered'
      readonly finish: FinishReason
      /** Undefined: there was no readable content. */
      readonly firstWordMs: number | undefined
      readonly totalMs: number
      readonly usage: Usage | undefined
      /** The model name in the response. */
      readonly model: string | undefined
    }
  /** An incomplete response in its protocol; `expired` if our timeout ended it. */
  | { readonly kind: 'broken-off'; readonly expired: DeadlinePhase | undefined }
  /** The response ignores its output limit. */
  | { readonly kind: 'endless' }
  /** Not the lane's protocol: a page, plain JSON, nothing at all. */
  | { readonly kind: 'foreign'; readonly contentType: string | undefined; readonly isEmpty: boolean }

/** Small, because every probe costs tokens; some providers accept no less. */
export const OUTPUT_CAP = 16
const RETRIES_MAX = 3

const QUESTION: Conversation = { ...EMPTY_CONVERSATION, items: [userMessage('Say OK.')] }

/**
 * Calls a lane as the server would: in its dialect, as a stream, and again without fields that it rejects. No account is
 * charged, and no effort is requested.
 */
export async function probe(
  services: ProbeServices,
  lane: Lane,
): Promise<{ readonly probed: ProbeResult; readonly without: readonly string[] }> {
  const learned = createLearnedCapabilities(services.nowMicros)
  const without: string[] = []
  for (;;) {
    const dialect = learned.dialectOf(lane)
    const probed = await probeOnce(services, lane, dialect)
    const mayRetry = probed.kind === 'refused' && probed.means === 'unsupported-field' && without.length < RETRIES_MAX
    if (!mayRetry || !learned.learn(lane.id, dialect, probed.error)) return { probed, without }
    without.push(refusedField(probed.error)?.names[0] ?? '')
  }
}

async function probeOnce(services: ProbeServices, lane: Lane, dialect: LaneDialect): Promise<ProbeResult> {
  const { upstream, model, origin } = lane
  const request = codecs.writeRequest(QUESTION, {
    ...{ model, origin, dialect, outputCap: OUTPUT_CAP },
    ...{ effort: undefined, delivery: 'stream', promptCache: 'off', cacheSalt: undefined, client: 'chat' },
  })
  const body = Buffer.from(JSON.stringify(request.body))
  const since = services.nowMicros()
  const outcome = await services.send({ upstream, model, body, delivery: 'stream', signal: new Stopper() })
  if (outcome.kind === 'failed') return { kind: 'failed', failure: outcome }
  if (outcome.status >= 400) {
    const error = readProviderError(outcome.status, await readBeginning(outcome.body))
    return refusedBy(error, readRetryAfter(outcome.headers, services.now()))
  }
  return readProbe({ ...services, since }, outcome, codecs.createEventReader({ dialect, origin }, services.mint))
}

const refusedBy = (error: ProviderError, retryAfterMs = error.retryAfterMs): ProbeResult => ({
  kind: 'refused',
  means: classifyRefusal(error),
  error,
  retryAfterMs,
})

interface ReadOptions {
  readonly nowMicros: () => number
  readonly frameBytesMax: number
  /** When the request was sent. */
  readonly since: number
}

/** No response to a two-word question is longer. */
const BYTES_MAX = 256 * 1024
/** How long to wait for usage after the finish reason. */
const USAGE_MS = 5000

/** Every protocol has the model under one of two names; in text the quotes would be escaped. */
const MODEL_NAME = /"(?:model|modelVersion)"\s*:\s*"([^"\\]{1,200})"/

async function readProbe(options: ReadOptions, answer: UpstreamAnswer, reader: EventReader): Promise<ProbeResult> {
  const sinceStart = () => Math.round((options.nowMicros() - options.since) / 1000)
  const splitter = new FrameSplitter(options)
  const { state } = reader
  let [events, bytes] = [0, 0]
  let firstWordMs: number | undefined
  let finish: FinishReason | undefined
  let model: string | undefined
  const readFrame = (frame: Buffer): void => {
    bytes += frame.length
    model ??= MODEL_NAME.exec(frame.toString('utf8'))?.[1]
    for (const event of reader.read(frame)) {
      events += 1
      if (event.type === 'turn-end') finish = event.reason
      const isContent = event.type === 'tool-call-start' || ('text' in event && event.text !== '')
      if (isContent) firstWordMs ??= sinceStart()
    }
  }
  let timer: NodeJS.Timeout | undefined
  let failure: unknown
  try {
    while (!state.done && state.invalid === undefined && state.error === undefined && bytes <= BYTES_MAX) {
      const read = await answer.body.read()
      if (read.length === 0) break
      for (const chunk of read) splitter.push(chunk)
      for (let frame = splitter.next(); frame !== undefined; frame = splitter.next()) readFrame(frame)
      if (state.finished) timer ??= setTimeout(() => answer.body.cancel(), USAGE_MS)
    }
  } catch (error) {
    failure = error
  }
  clearTimeout(timer)
  answer.body.cancel()
  if (state.error !== undefined) return refusedBy({ ...state.error, status: undefined, param: undefined })
  finish ??= reader.ending
  if (state.finished && finish !== undefined) {
    return { kind: 'answered', finish, firstWordMs, model, usage: state.usage, totalMs: sinceStart() }
  }
  if (bytes > BYTES_MAX) return { kind: 'endless' }
  if (failure instanceof UpstreamTimedOut) return { kind: 'broken-off', expired: failure.phase }
  const isForeign = events === 0 && (failure === undefined || failure instanceof FrameTooLarge)
  return isForeign ? readForeign(answer, splitter.takeRest(), bytes) : { kind: 'broken-off', expired: undefined }
}

/** Some servers refuse a stream with plain JSON, and with status 200. */
function readForeign({ headers }: UpstreamAnswer, rest: Buffer, bytes: number): ProbeResult {
  if (rest[0] === OPENING_BRACE && /"(?:error|detail)"/.test(rest.toString('utf8', 0, 4096))) {
    return refusedBy({ ...readProviderError(undefined, rest), status: undefined, param: undefined })
  }
  return { kind: 'foreign', contentType: headers['content-type'], isEmpty: bytes + rest.length === 0 }
}

const OPENING_BRACE = 0x7b
