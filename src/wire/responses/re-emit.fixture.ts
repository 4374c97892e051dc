import type { Fields } from '../../lib/is-object.ts'
import { eventsIn, mintInOrder, plainEnvelope, SETTLED } from './answers.fixture.ts'
import { responsesDialect } from './dialects.ts'
import { createReEmitter, type ReEmitLane } from './re-emit.ts'

export const laneOf = (over: Partial<ReEmitLane> = {}): ReEmitLane => ({
  dialect: responsesDialect('generic'),
  mint: mintInOrder(),
  seal: (data) => `in our envelope: ${data}`,
  sealCompaction: (data) => `made short, in our envelope: ${data}`,
  seals: 'shown',
  rawReasoning: 'as-it-comes',
  nowSeconds: () => 1_800_000_009,
  ...over,
})

export function reEmit(frames: readonly Buffer[], over: Partial<ReEmitLane> = {}) {
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
