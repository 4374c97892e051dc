import { isUtf8 } from 'node:buffer'
import { type UpstreamBody, UpstreamTimedOut } from '../../upstream/upstream-answer.ts'
import { scanJson } from '../../wire/json/scan-json.ts'
import { skipComments } from '../../wire/json/skip-comments.ts'
import { tryParse } from '../../wire/json/try-parse.ts'
import type { CarriedReply, ReceivedReply } from '../../wire/voice.ts'
import type { TurnStop } from '../turn-stop.ts'
import type { LaneTry } from './lane-try.ts'
import { type AskedFields, failed, invalidAnswer, overloaded, refusedInside, timedOut } from './provider-refusal.ts'
import { NOTHING_PRODUCED, type Produced, type RunFate } from './run.ts'

export interface CarriedJson {
  readonly body: UpstreamBody
  readonly stop: TurnStop
  readonly on: Pick<LaneTry, 'askedMs'>
  readonly request: AskedFields
  /** Reads the body as the lane's protocol, and says it in the client's. */
  carry(reply: ReceivedReply): CarriedReply
  readonly bounds: { readonly bodyBytesMax: number; readonly depthMax: number; readonly valuesMax: number }
}

const NOTHING = Buffer.alloc(0)

/** A whole answer at once: it is read, checked, and handed on as the client's protocol has it. */
export async function carryJson(json: CarriedJson): Promise<RunFate> {
  const whole = await readWhole(json)
  if (whole instanceof Error) {
    const { stoppedFor } = json.stop
    // While it is read on for a client that has gone, it may fail by itself.
    if (stoppedFor) return { kind: 'stopped', reason: stoppedFor, accepted: true, used: madeFor(json) }
    if (whole instanceof UpstreamTimedOut) return failed(timedOut(whole.phase))
    return unusable('Connection error: the connection to the provider ended before its answer was complete.')
  }
  const bytes = skipComments(whole)
  const scanned = scanJson(bytes, json.bounds)
  const value = scanned.kind === 'scanned' ? tryParse(bytes.toString('utf8')) : undefined
  if (scanned.kind !== 'scanned' || value === undefined)
    return unusable('Server error: the provider answered with something that is not JSON.')
  const reply = json.carry({ body: { bytes, members: scanned.members }, value })
  switch (reply.kind) {
    case 'reply':
      return {
        kind: 'finished',
        answer: { unsent: NOTHING, close: reply.close },
        used: { usage: reply.usage, outputBytes: reply.outputBytes, wholeMs: json.on.askedMs() },
        unheard: json.stop.leftEarly,
      }
    case 'error':
      // An error with status 200 is an error all the same.
      return refusedInside(reply.said, json.request)
    case 'invalid':
      return unusable(invalidAnswer(reply.what))
  }
}

/** Nothing of it can be counted before it is whole. */
const madeFor = ({ on }: CarriedJson): Produced => ({ ...NOTHING_PRODUCED, wholeMs: on.askedMs() })

const unusable = (message: string): RunFate => failed(overloaded(message))

/** How the body failed is a value here, because it is expected; so is one that is larger than any answer may be. */
async function readWhole({ body, bounds }: CarriedJson): Promise<Buffer | Error> {
  const parts: Buffer[] = []
  let size = 0
  try {
    for (let chunks = await body.read(); chunks.length > 0; chunks = await body.read()) {
      for (const chunk of chunks) size += chunk.length
      if (size > bounds.bodyBytesMax) {
        body.cancel()
        return new RangeError(`over ${bounds.bodyBytesMax} bytes`)
      }
      parts.push(...chunks)
    }
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
  return asUtf8(parts.length === 1 ? parts[0]! : Buffer.concat(parts))
}

/** Clients that decode strictly throw at a byte that is not UTF-8: they get what lenient ones would read. */
const asUtf8 = (bytes: Buffer): Buffer => (isUtf8(bytes) ? bytes : Buffer.from(bytes.toString('utf8')))
