import type { Fields } from '../../lib/types.ts'
import { eventsIn, mintInOrder, plainFraming, SETTLED } from './answers.fixture.ts'
import { encodeStream, encodeWhole, type Telling } from './encode-answer.ts'
import type { Framing } from './item-frames.ts'
import { createItemEventReader } from './read-stream.ts'

/** How a lane is told of, before anybody knows with which framing. */
type LaneTold = Omit<Telling, 'framing'>

export const laneOf = (over: Partial<LaneTold> = {}): LaneTold => ({
  mint: mintInOrder(),
  sealReasoning: ({ data }) => `in our envelope: ${data}`,
  sealCompaction: (compacted) => `compacted ${JSON.stringify(compacted)}`,
  seals: 'shown',
  rawReasoning: 'as-it-comes',
  nowSeconds: () => 1_800_000_009,
  isUnstored: () => false,
  ...over,
})

export const createReEmitter = (framing: Framing, lane: LaneTold) =>
  encodeStream(createItemEventReader('lane'), { ...lane, framing })

export const reEmitReply = (value: unknown, lane: LaneTold) =>
  encodeWhole(value, 'lane', { ...lane, framing: plainFraming() })

export function reEmit(frames: readonly Buffer[], over: Partial<LaneTold> = {}) {
  const framing = plainFraming()
  const adapter = createReEmitter(framing, laneOf(over))
  const pieces: Buffer[] = []
  let firstContent: number | undefined
  for (const frame of frames) {
    const { bytes, isContent } = adapter.read(frame)
    if (bytes) pieces.push(bytes)
    if (isContent) firstContent ??= pieces.length
  }
  const { finished } = adapter.state
  const bytes = Buffer.concat(finished ? [...pieces, adapter.end(SETTLED).bytes] : pieces)
  return { adapter, framing, bytes, firstContent, whole: finished }
}

export const lastResponse = (bytes: Buffer) => eventsIn(bytes).at(-1)!.response as Fields & { output: Fields[] }

export const event = (type: string, fields: object = {}) =>
  Buffer.from(`data: ${JSON.stringify({ type, ...fields })}\n\n`)
export const delta = (text: string, over: object = {}) =>
  event('response.output_text.delta', { item_id: 'm', output_index: 0, content_index: 0, delta: text, ...over })
export const added = (item: object, index = 0) => event('response.output_item.added', { output_index: index, item })
export const ended = (response: object = {}) =>
  event('response.completed', { response: { status: 'completed', ...response } })
