import type { Fields } from '../../lib/is-object.ts'
import { eventsIn, mintInOrder, plainEnvelope, SETTLED } from './answers.fixture.ts'
import type { Envelope } from './envelope.ts'
import { createStepReader } from './read-steps.ts'
import { tellWhole } from './tell-reply.ts'
import { tellStream } from './tell-stream.ts'
import type { Telling } from './told-answer.ts'

/** How a lane is told of, before anybody knows in which envelope. */
type LaneTold = Omit<Telling, 'envelope'>

export const laneOf = (over: Partial<LaneTold> = {}): LaneTold => ({
  mint: mintInOrder(),
  seal: ({ data }) => `in our envelope: ${data}`,
  sealCompaction: (compacted) => `compacted ${JSON.stringify(compacted)}`,
  seals: 'shown',
  rawReasoning: 'as-it-comes',
  nowSeconds: () => 1_800_000_009,
  isUnstored: () => false,
  ...over,
})

export const createReEmitter = (envelope: Envelope, lane: LaneTold) =>
  tellStream(createStepReader('lane'), { ...lane, envelope })

export const reEmitReply = (value: unknown, lane: LaneTold) =>
  tellWhole(value, 'lane', { ...lane, envelope: plainEnvelope() })

export function reEmit(frames: readonly Buffer[], over: Partial<LaneTold> = {}) {
  const envelope = plainEnvelope()
  const carrier = createReEmitter(envelope, laneOf(over))
  const pieces: Buffer[] = []
  let firstContent: number | undefined
  for (const frame of frames) {
    const { bytes, isContent } = carrier.read(frame)
    if (bytes) pieces.push(bytes)
    if (isContent) firstContent ??= pieces.length
  }
  const { finished } = carrier.heard
  const bytes = Buffer.concat(finished ? [...pieces, carrier.end(SETTLED).bytes] : pieces)
  return { carrier, envelope, bytes, firstContent, whole: finished }
}

export const lastResponse = (bytes: Buffer) => eventsIn(bytes).at(-1)!.response as Fields & { output: Fields[] }

export const event = (type: string, fields: object = {}) =>
  Buffer.from(`data: ${JSON.stringify({ type, ...fields })}\n\n`)
export const delta = (text: string, over: object = {}) =>
  event('response.output_text.delta', { item_id: 'm', output_index: 0, content_index: 0, delta: text, ...over })
export const added = (item: object, index = 0) => event('response.output_item.added', { output_index: index, item })
export const ended = (response: object = {}) =>
  event('response.completed', { response: { status: 'completed', ...response } })
