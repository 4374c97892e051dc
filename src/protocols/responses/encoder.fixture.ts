import { eventsOf } from '../../../test/support/responses-grammar.ts'
import type { Effort } from '../../model/effort.ts'
import type { SettledCharge } from '../../model/ending.ts'
import type { Opaque, TurnEvent } from '../../model/event.ts'
import { type NanoUsd, type PicoPerToken, parsePricePerMillion, parseUsd, ZERO } from '../../model/money.ts'
import type { Price } from '../../model/price.ts'
import type { Delivery, RequestBody, ResponsesRequest } from '../../model/turn.ts'
import { INNER_BOUNDS, scanJson } from '../json/scan-json.ts'
import type { EventReader, MintIds } from '../shared/event-reader.ts'
import { newStreamState } from '../shared/stream-state.ts'
import { createResponsesEncoder, type ResponsesEncoder, type ResponsesEncoderOptions } from './encoder.ts'

/** A request as the door leaves it, asking for a stream that is not stored. */
export const requestWith = (
  fields: Record<string, unknown> = {},
  others: Partial<ResponsesRequest> = {},
): ResponsesRequest => ({
  protocol: 'responses',
  body: bodyOf(fields),
  storedInput: undefined,
  previousResponseId: undefined,
  sealed: new Map(),
  boundTo: undefined,
  compacts: undefined,
  model: 'mill-1',
  effort: undefined,
  effortParam: 'reasoning.effort',
  delivery: 'stream',
  outputCap: undefined,
  outputCapParam: 'max_output_tokens',
  choices: 1,
  inputField: 'input',
  demands: [],
  inputSize: { bodyBytes: 2, inputBytes: 2, messages: 1, tools: 0 },
  otherInputs: [],
  ignoredTools: [],
  toolNames: 0,
  toolKinds: [],
  rewritten: new Map(),
  optionalFields: [],
  ...others,
})

function bodyOf(fields: Record<string, unknown>): RequestBody {
  const bytes = Buffer.from(JSON.stringify(fields))
  const scanned = scanJson(bytes, INNER_BOUNDS)
  if (scanned.kind !== 'scanned') throw new Error('the fields of this test are no object')
  return { bytes, members: scanned.members }
}

/** Ids that can be told apart: `msg_1`, `rs_2`. */
export function countedIds(): MintIds {
  let minted = 0
  const next = (prefix: string) => {
    minted += 1
    return `${prefix}_${minted}`
  }
  return {
    completionId: () => next('chatcmpl'),
    responseId: () => next('resp'),
    callId: () => next('call'),
    itemId: next,
  }
}

export interface OpenedEncoder {
  readonly fields?: Record<string, unknown>
  readonly delivery?: Delivery
  readonly others?: Partial<ResponsesEncoderOptions>
}

/** So that a test sees what is in it. */
export const plainSeal = ({ wire, origin, data }: Opaque): string => `sealed ${wire} ${origin} ${data}`

export const openEncoder = ({ fields = {}, delivery = 'stream', others = {} }: OpenedEncoder = {}): ResponsesEncoder =>
  createResponsesEncoder({
    request: requestWith(fields, { delivery }),
    model: 'mill-1',
    effort: 'high' as Effort,
    responseId: 'resp_1',
    createdAt: 1_800_000_000,
    requestId: 'req_1',
    mint: countedIds(),
    now: () => 1_800_000_005_900,
    mayOpen: () => true,
    program: undefined,
    sealReasoning: plainSeal,
    sealCompaction: (compacted) => `compacted ${JSON.stringify(compacted)}`,
    ...others,
  })

/** A lane whose frames are lists of events, as JSON. */
export function eventReader(): EventReader {
  const state = newStreamState()
  return {
    state,
    read(frame) {
      const events = JSON.parse(frame.toString()) as TurnEvent[]
      for (const event of events) {
        if ('text' in event) state.outputBytes += Buffer.byteLength(event.text)
        if (event.type === 'turn-end') state.finished = true
      }
      return events
    },
    readTemplated: () => undefined,
  }
}

export const frameOf = (...events: TurnEvent[]): Buffer => Buffer.from(JSON.stringify(events))

const FREE = parsePricePerMillion('0') as PicoPerToken
const PRICE: Price = {
  version: 7,
  input: FREE,
  cachedInput: FREE,
  cacheWrite: FREE,
  output: FREE,
  perRequest: ZERO,
  tiers: [],
}

export const settledCharge = (): SettledCharge => ({
  usage: { uncachedInput: 8, cachedInput: 2, cacheWrite: 1, output: 5, reasoning: 3, estimated: false },
  charge: parseUsd('0.000123') as NanoUsd,
  tier: 0,
  price: PRICE,
})

/** Everything that a lane says, as the client gets it in one piece; one frame for each list. */
export function tellAll(voice: ResponsesEncoder, ...frames: readonly TurnEvent[][]): string {
  const adapter = voice.translate(eventReader())
  const said = frames.map((events) => adapter.read(frameOf(...events)).bytes?.toString() ?? '')
  return said.join('') + adapter.close(settledCharge()).toString()
}

export const text = (words: string): TurnEvent => ({ type: 'text-delta', text: words })
export const end = (reason: Extract<TurnEvent, { type: 'turn-end' }>['reason']): TurnEvent => ({
  type: 'turn-end',
  reason,
})
export const callStart = (call: number, name = 'look'): TurnEvent => ({
  type: 'tool-call-start',
  call,
  callId: `call_${call}`,
  name,
  namespace: undefined,
  tool: 'function',
})
export const callDelta = (call: number, words: string): TurnEvent => ({ type: 'tool-call-delta', call, text: words })
export const callEnd = (call: number): TurnEvent => ({ type: 'tool-call-end', call })
export const reasoning = (words: string): TurnEvent => ({ type: 'reasoning-delta', text: words })
export const seal = (data: string): TurnEvent => ({
  type: 'reasoning-seal',
  opaque: { wire: 'responses', origin: 'lane', data },
})

/** One line for each event: its type without the prefix, and what it says. */
export const shortly = (stream: string): string[] =>
  eventsOf(stream).map(({ type, delta, item }) => {
    const short = type.replace('response.', '')
    if (delta !== undefined) return `${short} ${delta}`
    return item === undefined ? short : `${short} ${(item as { id: string }).id}`
  })

// biome-ignore lint/suspicious/noExplicitAny: a response is judged by what the test expects of it
export const finalOf = (stream: string): any => eventsOf(stream).at(-1)?.response
