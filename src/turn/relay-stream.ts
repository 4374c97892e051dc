import type { AdmittedTurn } from '../ledger/ledger.ts'
import { estimateTokens } from '../metering/estimate-tokens.ts'
import type { Problem } from '../model/problem.ts'
import { type UpstreamBody, UpstreamTimedOut } from '../upstream/upstream-answer.ts'
import { classifyRefusal } from '../wire/chat/read-provider-error.ts'
import type { ChatTap } from '../wire/chat/tap.ts'
import { createFrameSplitter, type FrameSplitter, FrameTooLarge } from '../wire/sse/split-frames.ts'
import { overloaded, problemOfRefusal, timedOut } from './provider-refusal.ts'
import type { Produced, RunFate } from './run.ts'
import type { Sink } from './sink.ts'
import type { TurnAbort } from './turn-abort.ts'

export interface StreamRelay {
  readonly body: UpstreamBody
  readonly tap: ChatTap
  readonly sink: Sink
  readonly hold: AdmittedTurn
  readonly abort: TurnAbort
  readonly choices: number
  readonly bytesPerToken: number
  readonly frameBytesMax: number
  onFirstContent(): void
}

/** No model writes longer tokens than this on average: output beyond it is past the cap that the hold covers. */
const BYTES_PER_TOKEN_MAX = 64

/**
 * Frames go out as they came; one read of the provider is one write to the client, and while the client's socket is full
 * the provider is not read. Frames before the first content are held back, and no content passes before the hold is
 * durable (R1). Only a read of the provider may fail here: any other throw is our own fault, and nobody's charge.
 */
export async function relayStream(relay: StreamRelay): Promise<RunFate> {
  const { tap, sink, hold } = relay
  const splitter = createFrameSplitter({ frameBytesMax: relay.frameBytesMax })
  let ready: Buffer[] = []
  let started = false
  for (;;) {
    const read = await readOn(relay.body)
    if (read instanceof Error) return stopReading(relay, fateOfFailure(relay, started, read))
    if (read.length === 0) break
    const heard = hear(relay, splitter, read)
    if (heard instanceof FrameTooLarge) return stopReading(relay, fateOfFailure(relay, started, heard))
    ready.push(...heard.frames)
    if (heard.content && !started) {
      if ((await hold.durable) === 'lost') return stopReading(relay, { kind: 'hold-lost' })
      started = true
      relay.onFirstContent()
    }
    if (started && ready.length > 0) {
      const full = sink.write(joined(ready))
      ready = []
      hold.mark(estimateTokens(tap.heard.outputBytes, relay.bytesPerToken))
      if (full) await full
    }
    if (tap.heard.finished) relay.abort.letItFinish()
    if (tap.heard.done || tap.heard.error || tap.heard.garbled) break
    if (isPastTheCap(relay))
      return stopReading(relay, ended(relay, started, overloaded('The provider went on past the output cap.')))
  }
  return stopReading(relay, fateOfEnd(relay, started, joined(ready)))
}

/** What the provider says next; a failure of the connection is a value here, because it is expected. */
async function readOn(body: UpstreamBody): Promise<readonly Buffer[] | Error> {
  try {
    return await body.read()
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

function hear({ tap }: StreamRelay, splitter: FrameSplitter, chunks: readonly Buffer[]) {
  const frames: Buffer[] = []
  let content = false
  try {
    for (const chunk of chunks) {
      for (const frame of splitter.push(chunk)) {
        const tapped = tap.read(frame)
        if (tapped.bytes) frames.push(tapped.bytes)
        content ||= tapped.isContent
      }
    }
  } catch (error) {
    if (error instanceof FrameTooLarge) return error
    throw error
  }
  return { frames, content }
}

const isPastTheCap = ({ tap, hold, choices }: StreamRelay): boolean =>
  tap.heard.outputBytes > hold.cap * choices * BYTES_PER_TOKEN_MAX

const joined = (frames: readonly Buffer[]): Buffer => (frames.length === 1 ? frames[0]! : Buffer.concat(frames))

/** An answer that is known to be whole lets its connection serve again; any other is cut, so that the provider stops. */
function stopReading(relay: StreamRelay, fate: RunFate): RunFate {
  if (fate.kind === 'finished') relay.body.release()
  else relay.body.cancel()
  return fate
}

const producedOf = ({ tap }: StreamRelay): Produced => ({ usage: tap.heard.usage, outputBytes: tap.heard.outputBytes })

/** The stream has ended; only a finish reason makes that a whole answer. */
function fateOfEnd(relay: StreamRelay, started: boolean, unsent: Buffer): RunFate {
  const { heard } = relay.tap
  if (heard.finished && !heard.error && !heard.garbled) {
    return { kind: 'finished', answer: { kind: 'stream', unsent, head: heard.head }, used: producedOf(relay) }
  }
  if (heard.error) {
    const error = { status: undefined, message: heard.error.message, code: heard.error.code, param: undefined }
    const problem = problemOfRefusal(classifyRefusal(error), error, undefined)
    return started ? brokenOff(relay, inStream(problem)) : { kind: 'failed', problem }
  }
  return ended(relay, started, overloaded('The provider ended its answer before it was complete.'))
}

function fateOfFailure(relay: StreamRelay, started: boolean, error: Error): RunFate {
  const { reason } = relay.abort
  if (reason) return { kind: 'stopped', reason, accepted: true, used: producedOf(relay) }
  if (error instanceof UpstreamTimedOut) return ended(relay, started, timedOut(error.phase))
  const what =
    error instanceof FrameTooLarge
      ? 'The provider sent a frame that is too large.'
      : 'The connection to the provider broke.'
  return ended(relay, started, overloaded(what))
}

const ended = (relay: StreamRelay, started: boolean, problem: Problem): RunFate =>
  started ? brokenOff(relay, inStream(problem)) : { kind: 'failed', problem }

const brokenOff = (relay: StreamRelay, problem: Problem): RunFate => ({
  kind: 'broken-off',
  problem,
  used: producedOf(relay),
})

/** After content an answer can be neither free nor tried elsewhere: the same problem in the words for that. */
function inStream({ code, message, ...details }: Problem): Problem {
  const said = message.replace(/ ?Nothing was charged\./, '').replace(/ ?Try again shortly\./, '')
  const cure = 'What was received so far is charged; send the request again to get a whole answer.'
  const kept = code === 'context_length_exceeded' || code === 'upstream_timeout' ? code : 'upstream_error'
  return { ...details, code: kept, message: `${said} ${cure}` }
}
