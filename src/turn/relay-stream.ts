import type { AdmittedTurn } from '../ledger/ledger.ts'
import { estimateTokens } from '../metering/estimate-tokens.ts'
import { problem } from '../model/problem.ts'
import type { UpstreamBody } from '../upstream/upstream-answer.ts'
import type { ChatTap } from '../wire/chat/tap.ts'
import { createFrameSplitter } from '../wire/sse/split-frames.ts'
import type { RunFate } from './run.ts'
import type { Sink } from './sink.ts'
import type { TurnAbort } from './turn-abort.ts'

export interface StreamRelay {
  readonly body: UpstreamBody
  readonly tap: ChatTap
  readonly sink: Sink
  readonly hold: AdmittedTurn
  readonly abort: TurnAbort
  readonly bytesPerToken: number
  readonly frameBytesMax: number
  onFirstContent(): void
}

/**
 * Frames go out as they came; one read of the provider is one write to the client, and while the client's socket is full
 * the provider is not read. Frames before the first content are held back, and no content passes before the hold is
 * durable (R1).
 */
export async function relayStream(relay: StreamRelay): Promise<RunFate> {
  const { tap, sink, hold } = relay
  const splitter = createFrameSplitter({ frameBytesMax: relay.frameBytesMax })
  let ready: Buffer[] = []
  let started = false
  try {
    for (let chunks = await relay.body.read(); chunks.length > 0; chunks = await relay.body.read()) {
      let content = false
      for (const chunk of chunks) {
        for (const frame of splitter.push(chunk)) {
          const tapped = tap.read(frame)
          if (tapped.bytes) ready.push(tapped.bytes)
          content ||= tapped.isContent
        }
      }
      if (content && !started) {
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
    }
  } catch (error) {
    return stopReading(relay, fateOfThrow(relay, started, error))
  }
  return stopReading(relay, fateOfEnd(relay, started, joined(ready)))
}

const joined = (frames: readonly Buffer[]): Buffer => (frames.length === 1 ? frames[0]! : Buffer.concat(frames))

function stopReading(relay: StreamRelay, fate: RunFate): RunFate {
  if (!relay.tap.heard.done) relay.body.cancel()
  return fate
}

function producedOf({ tap }: StreamRelay) {
  return { usage: tap.heard.usage, outputBytes: tap.heard.outputBytes }
}

/** The stream has ended; only a finish reason makes that a whole answer. */
function fateOfEnd(relay: StreamRelay, started: boolean, unsent: Buffer): RunFate {
  const { heard } = relay.tap
  if (heard.finished && !heard.error && !heard.garbled) {
    return { kind: 'finished', answer: { kind: 'stream', unsent, head: heard.head }, used: producedOf(relay) }
  }
  const said = heard.error
    ? `The provider reported an error: ${heard.error.message}`
    : 'The provider ended its answer before it was complete.'
  return brokenOff(relay, started, said)
}

function fateOfThrow(relay: StreamRelay, started: boolean, error: unknown): RunFate {
  const { reason } = relay.abort
  if (reason) return { kind: 'stopped', reason, accepted: true, used: producedOf(relay) }
  return brokenOff(
    relay,
    started,
    `The connection to the provider ended early (${error instanceof Error ? error.name : 'error'}).`,
  )
}

function brokenOff(relay: StreamRelay, started: boolean, message: string): RunFate {
  const said = problem(
    'upstream_error',
    `${message} What was received so far is charged; send the request again to get a whole answer.`,
    {
      source: 'upstream',
    },
  )
  return started
    ? { kind: 'broken-off', problem: said, used: producedOf(relay) }
    : {
        kind: 'failed',
        problem: problem('server_is_overloaded', `${message} Nothing was charged. Send the request again.`, {
          source: 'upstream',
        }),
      }
}
