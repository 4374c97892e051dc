import type { FinishReason, TurnEvent } from '../../model/event.ts'
import type { Usage } from '../../model/usage.ts'
import type { DeadlinePhase } from '../../upstream/deadlines.ts'
import { type UpstreamAnswer, UpstreamTimedOut } from '../../upstream/upstream-answer.ts'
import type { EventReader } from '../../wire/event-reader.ts'
import { readProviderError, type UpstreamSaid } from '../../wire/refusals/provider-error.ts'
import { createFrameSplitter, FrameTooLarge } from '../../wire/sse/split-frames.ts'

/** What a lane has said to a question. */
export type HeardWord =
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
  readonly ticks: () => number
  readonly frameBytesMax: number
  /** When it was asked. */
  readonly since: number
}

/** Nobody answers a question of two words with more than this. */
const BYTES_MAX = 256 * 1024
/** So long its counts are waited for, once it has said why it ends. */
const COUNTS_MS = 5000

/** Reads a streamed answer with the ears of its wire. */
export async function hearWord(
  deps: HearDeps,
  answer: UpstreamAnswer,
  reader: EventReader,
): Promise<HeardWord | { readonly kind: 'error'; readonly said: UpstreamSaid }> {
  const told: Told = { events: 0, bytes: 0, firstWordMs: undefined, finish: undefined, model: undefined }
  const splitter = createFrameSplitter(deps)
  const { heard } = reader
  let timer: NodeJS.Timeout | undefined
  let failure: unknown
  try {
    while (!heard.done && heard.invalid === undefined && heard.error === undefined && told.bytes <= BYTES_MAX) {
      const read = await answer.body.read()
      if (read.length === 0) break
      for (const chunk of read) splitter.push(chunk)
      for (let frame = splitter.next(); frame !== undefined; frame = splitter.next()) listen(deps, told, reader, frame)
      if (heard.finished) timer ??= setTimeout(() => answer.body.cancel(), COUNTS_MS)
    }
  } catch (error) {
    failure = error
  }
  clearTimeout(timer)
  answer.body.cancel()
  if (heard.error !== undefined) return { kind: 'error', said: heard.error }
  const { finish } = told
  if (heard.finished && finish !== undefined) {
    const { firstWordMs, model } = told
    return { kind: 'answered', finish, firstWordMs, model, usage: heard.usage, totalMs: sinceAsked(deps) }
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

const sinceAsked = ({ ticks, since }: HearDeps): number => Math.round((ticks() - since) / 1000)

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
): HeardWord | { readonly kind: 'error'; readonly said: UpstreamSaid } {
  if (rest[0] === OPENING_BRACE && /"(?:error|detail)"/.test(rest.toString('utf8', 0, 4096))) {
    return { kind: 'error', said: readProviderError(undefined, rest) }
  }
  return { kind: 'foreign', contentType: headers['content-type'], isEmpty: bytes + rest.length === 0 }
}

const OPENING_BRACE = 0x7b
