import { type PlaygroundTurn, startPlaygroundTurn } from '../../../lib/api-client.ts'
import { now } from '../../../lib/clock.ts'
import { asProblem, ConsoleProblem } from '../../../lib/console-problem.ts'
import { createServerEventReader, type ServerEvent } from '../../../lib/read-server-events.ts'
import { readChatEvent } from './chat.ts'
import { type Answer, NO_ANSWER } from './conversation.ts'
import { readResponsesEvent } from './responses.ts'

/** The state of a turn. */
export interface Run {
  readonly state: 'running' | 'done' | 'stopped' | 'failed'
  readonly model: string
  readonly answer: Answer
  /** Null until the response headers arrive. */
  readonly requestId: string | null
  readonly firstMs: number | undefined
  readonly totalMs: number
  /** When it began. */
  readonly startedAt: number
  /** When the first reasoning came, and how long it took until the answer began. */
  readonly reasoningFrom: number | undefined
  readonly reasoningMs: number | undefined
  readonly problem: ConsoleProblem | undefined
  readonly raw: ReturnType<RecentEvents['shown']>
}

export type EndedRun = Run & { readonly state: Exclude<Run['state'], 'running'> }

export const newRun = (model: string): Run => ({
  state: 'running',
  model,
  answer: NO_ANSWER,
  requestId: null,
  firstMs: undefined,
  totalMs: 0,
  startedAt: now(),
  reasoningFrom: undefined,
  reasoningMs: undefined,
  problem: undefined,
  raw: { events: [], count: 0 },
})

interface RunOptions {
  readonly signal: AbortSignal
  /** Called for each chunk. `current` builds the state only when it is needed. */
  onProgress(current: () => Run): void
}

/** Sends the request and reads the stream to its end. Never throws: failures are part of the result. */
export async function runTurn(turn: PlaygroundTurn, { signal, onProgress }: RunOptions): Promise<EndedRun> {
  const started = now()
  const recent = createRecentEvents()
  const readEvent = turn.endpoint === 'responses' ? readResponsesEvent : readChatEvent
  let run = newRun(turn.body.model)
  const current = (): Run => ({ ...run, totalMs: now() - started, raw: recent.shown() })
  const take = (event: ServerEvent) => {
    recent.add(event, now() - started)
    const answer = readEvent(run.answer, event)
    run = { ...run, answer, firstMs: run.firstMs ?? (hasContent(answer) ? now() - started : undefined) }
    run = { ...run, reasoningFrom: run.reasoningFrom ?? (answer.reasoning === '' ? undefined : now()) }
    if (run.reasoningFrom === undefined || run.reasoningMs !== undefined) return
    if (answer.text !== '' || answer.calls.length > 0 || answer.ended)
      run = { ...run, reasoningMs: now() - run.reasoningFrom }
  }
  try {
    const response = await startPlaygroundTurn(turn, signal)
    run = { ...run, requestId: response.headers.get('x-request-id') }
    await readStream(response, { take, after: () => onProgress(current) })
    return { ...current(), ...ending(run) }
  } catch (error) {
    if (signal.aborted) return { ...current(), state: 'stopped' }
    const problem = asProblem(error)
    return { ...current(), state: 'failed', problem, requestId: run.requestId ?? problem.requestId }
  }
}

const hasContent = ({ text, reasoning, calls }: Answer): boolean => text !== '' || reasoning !== '' || calls.length > 0

async function readStream(response: Response, each: { take(event: ServerEvent): void; after(): void }): Promise<void> {
  const reader = createServerEventReader()
  const bytes = response.body?.getReader()
  if (bytes === undefined) return
  try {
    for (let piece = await bytes.read(); !piece.done; piece = await bytes.read()) {
      for (const event of reader.read(piece.value)) each.take(event)
      each.after()
    }
    for (const event of reader.end()) each.take(event)
  } finally {
    // Cancelling tells the server that the client has disconnected.
    await bytes.cancel().catch(() => {})
  }
}

/** A stream without the final event of its protocol was cut off. */
function ending({ answer, requestId }: Run): Pick<EndedRun, 'state' | 'problem'> {
  if (answer.failure === undefined && answer.ended) return { state: 'done', problem: undefined }
  const fault = answer.failure ?? { code: 'stream_cut', message: 'The stream ended before the answer did.' }
  return { state: 'failed', problem: new ConsoleProblem(0, { ...fault, request_id: requestId ?? '' }) }
}

/** An event with its time since the request. */
export interface RawEvent extends ServerEvent {
  readonly number: number
  readonly atMs: number
}

interface RecentEvents {
  add(event: ServerEvent, atMs: number): void
  /** The kept events, and the number of all events. */
  shown(): { readonly events: readonly RawEvent[]; readonly count: number }
}

const EVENTS_MAX = 500
const CHARS_MAX = 1_000_000

/** Keeps the last events within bounds, because a long answer has tens of thousands. */
export function createRecentEvents(): RecentEvents {
  let events: RawEvent[] = []
  let [count, chars] = [0, 0]
  return {
    add: (event, atMs) => {
      count += 1
      const data = event.data.slice(0, CHARS_MAX)
      events.push({ ...event, data, number: count, atMs })
      chars += data.length
      let first = 0
      while (events.length - first > EVENTS_MAX || chars > CHARS_MAX) {
        chars -= events[first]?.data.length ?? 0
        first += 1
      }
      if (first > 0) events = events.slice(first)
    },
    shown: () => ({ events: [...events], count }),
  }
}
