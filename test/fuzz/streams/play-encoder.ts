import { isUtf8 } from 'node:buffer'
import { type Fields, isObject } from '../../../src/lib/types.ts'
import { problem } from '../../../src/model/problem.ts'
import type { Protocol } from '../../../src/model/turn.ts'
import type { ClientEncoder, EncodedFrame, StreamAdapter } from '../../../src/protocols/shared/codec-types.ts'
import { FrameSplitter } from '../../../src/protocols/sse/frames.ts'
import { SETTLED } from '../../fixtures/protocols/chat/translate.ts'
import { encodedBytes } from '../../fixtures/protocols/encoded-bytes.ts'
import { deliveredIn, deliveredInJson } from '../../translation-gaps/turns.ts'

/** What a client got of a stream, and how it ended for it. */
export interface Played {
  readonly emitted: Buffer
  readonly end: 'finished' | 'failed'
  readonly hasContent: boolean
}

const FRAME_BYTES_MAX = 4 * 1024 * 1024

/** As a turn does it: nothing is read behind an end, an error or what is no frame of the wire. */
export function playEncoder(
  encoder: ClientEncoder,
  adapter: StreamAdapter,
  pieces: Iterable<Buffer>,
  silentIn: number,
): Played {
  const splitter = new FrameSplitter({ frameBytesMax: FRAME_BYTES_MAX })
  const emitted: Buffer[] = []
  let hasContent = false
  let at = 0
  const { state } = adapter
  for (const piece of pieces) {
    splitter.push(piece)
    while (!state.done && state.invalid === undefined && state.error === undefined) {
      const encoded = adapter.readRepeated?.(splitter) ?? readNext(adapter, splitter.next())
      if (encoded === undefined) break
      emitted.push(encodedBytes(encoded.bytes))
      hasContent ||= encoded.isContent
    }
    const silence = at++ % silentIn === 0 && !state.finished ? encoder.keepAlive() : undefined
    if (silence !== undefined) emitted.push(silence)
  }
  const isWhole = state.finished && state.invalid === undefined && state.error === undefined
  emitted.push(isWhole ? adapter.close(SETTLED) : encoder.fail(problem('upstream_error', 'It broke.')))
  return { emitted: Buffer.concat(emitted), end: isWhole ? 'finished' : 'failed', hasContent }
}

const readNext = (adapter: StreamAdapter, frame: Buffer | undefined): EncodedFrame | undefined =>
  frame && adapter.read(frame)

/**
 * A re-emitted stream without what it carries of its provider's own: unknown fields, and what stands beside the
 * words. A provider may say these otherwise each time, and no client of ours is promised that it does not.
 */
export function withoutForeign({ emitted, ...played }: Played): Played {
  let number = 0
  let left = 0
  const own = emitted.toString().replace(/event: [^\n]*\ndata: ([^\n]*)\n\n/g, (frame, json: string) => {
    const event = JSON.parse(json) as Fields
    if (event.sequence_number !== number++)
      throw new Error(`Event ${number - 1} has the number ${event.sequence_number}`)
    if (event.type === 'response.output_text.annotation.added') return ''
    const data = JSON.stringify(ownOf({ ...event, sequence_number: left++ }))
    return frame.replace(/data: [^\n]*/, () => `data: ${data}`)
  })
  return { ...played, emitted: Buffer.from(own) }
}

function ownOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ownOf)
  if (!isObject(value)) return value
  const entries = Object.entries(value).filter(([name]) => OURS.has(name))
  return Object.fromEntries(entries.map(([name, inner]) => [name, name in BESIDE_WORDS ? [] : ownOf(inner)]))
}

const BESIDE_WORDS = { logprobs: [], annotations: [] }

/** Of events, responses, items and parts. */
const OURS = new Set([
  ...[
    'type',
    'sequence_number',
    'response',
    'output_index',
    'item',
    'item_id',
    'content_index',
    'summary_index',
    'part',
  ],
  ...['delta', 'text', 'refusal', 'arguments', 'input', 'name', 'annotation_index', 'id', 'status', 'output', 'usage'],
  ...[
    'completed_at',
    'error',
    'incomplete_details',
    'reason',
    'code',
    'message',
    'param',
    'content',
    'summary',
    'call_id',
  ],
  ...['encrypted_content', 'input_tokens', 'output_tokens', 'total_tokens', 'logprobs', 'annotations'],
])

/** Throws where a client of that protocol could not make sense of what it got. */
export function judgeStream(client: Protocol, { emitted, end, hasContent }: Played): void {
  if (!isUtf8(emitted)) throw new Error('What was said is no UTF-8')
  const delivered = deliveredIn(client, emitted.toString())
  if (typeof delivered === 'string') throw new Error(`${client} client: ${delivered}`)
  if (delivered.end !== end) throw new Error(`${client} client: it is told ${delivered.end}, and it has ${end}`)
  const { content, refusal, reasoning, calls } = delivered.emitted
  if (!hasContent && content + refusal + reasoning !== '' && calls.length > 0)
    throw new Error('Words that are no content')
}

export function judgeJson(client: Protocol, { emitted, end }: Played): void {
  if (!isUtf8(emitted)) throw new Error('What was said is no UTF-8')
  if (end === 'finished') deliveredInJson(client, emitted.toString())
}

/** A relayed stream is its provider's own: clients must be able to parse it, and no more is promised. */
export function judgeRelay({ emitted }: Played): void {
  if (!isUtf8(emitted)) throw new Error('What was relayed is no UTF-8')
  const text = emitted.toString().replaceAll('\r\n', '\n')
  const frames = text.split('\n\n')
  if (frames.pop() !== '') throw new Error('The last frame is not closed')
  for (const frame of frames) {
    const lines = frame.split('\n').filter((line) => /^data(:|$)/.test(line))
    const data = lines.map((line) => line.replace(/^data:? ?/, '')).join('\n')
    if (data !== '' && data !== '[DONE]') JSON.parse(data)
  }
}
