import type { Lane } from '../catalog/catalog.ts'
import type { ResponsesRequest } from '../model/turn.ts'
import { codecs, type LaneDialect } from '../wire/codecs.ts'
import type { CacheSalt } from '../wire/lane-target.ts'
import type { MintIds } from '../wire/mint-ids.ts'
import type { ResponsesDialect } from '../wire/responses/dialects.ts'
import { createNativeCompactionReader, withTrigger } from '../wire/responses/native-compaction.ts'
import { fieldsLeftOut, retargetRequest } from '../wire/responses/retarget-request.ts'
import type { ResponsesVoice } from '../wire/responses/voice.ts'
import { askForSummary, createSummaryReader, transcriptOf } from '../wire/summary.ts'
import type { Road } from './road.ts'

interface CompactionJourney {
  readonly turn: ResponsesRequest
  readonly voice: ResponsesVoice
  readonly mint: MintIds
  readonly cacheSalt: CacheSalt
  /** All that the next turn of the conversation may run on. */
  readonly lanes: readonly Lane[]
  readonly withoutNativeCompaction: boolean
}

/**
 * How a conversation is made short on a lane: by the provider itself, where whatever comes after it can only go to that
 * provider anyway, and else by a summary, which every lane can write and read.
 */
export function compactionRoad(lane: Lane, dialect: LaneDialect, journey: CompactionJourney): Road {
  const { turn, lanes, withoutNativeCompaction } = journey
  if (dialect.wire === 'responses') {
    // What it alone can read it alone can make short.
    if (turn.boundTo !== undefined) return native(lane, dialect, journey)
    const may = dialect.compacts && !withoutNativeCompaction
    if (may && lanes.every(({ origin }) => origin === lane.origin)) return native(lane, dialect, journey)
  }
  return bySummary(lane, dialect, journey)
}

function native(
  { model, origin }: Lane,
  dialect: ResponsesDialect,
  { turn, voice, cacheSalt }: CompactionJourney,
): Road {
  const reader = createNativeCompactionReader(origin)
  return {
    delivery: 'stream',
    ...(turn.boundTo === undefined ? { nativeCompaction: { hasFailed: () => reader.hasFailed } } : {}),
    write({ entry, ...target }) {
      const asked = { ...target, model, origin, dialect, cacheSalt }
      const leftOut = fieldsLeftOut(turn, asked, entry.model.passFields)
      return { body: retargetRequest(withTrigger(turn), { ...asked, leftOut }), leftOut }
    },
    carrier: () => voice.compact(reader),
  }
}

function bySummary(
  { model, origin, promptCache }: Lane,
  dialect: LaneDialect,
  { turn, voice, mint, cacheSalt }: CompactionJourney,
): Road {
  const conversation = codecs.readConversation(turn)
  return {
    delivery: 'stream',
    write({ effort, outputCap }) {
      const client = turn.protocol
      const lane = { model, origin, promptCache, dialect, cacheSalt }
      const target = { ...lane, effort, outputCap, client, delivery: 'stream' } as const
      const { body } = codecs.writeRequest(askForSummary(conversation), target)
      // What else this lane has no words for would have changed an answer, and a summary is none.
      return { body, leftOut: turn.optionalFields }
    },
    carrier() {
      const reader = codecs.createEventReader({ dialect, origin }, mint)
      return voice.compact(createSummaryReader(reader, () => transcriptOf(conversation)))
    },
  }
}
