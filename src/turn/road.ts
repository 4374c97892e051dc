import type { CatalogEntry, Lane } from '../catalog/catalog.ts'
import { assertNever } from '../lib/assert-never.ts'
import type { Effort } from '../model/effort.ts'
import type { Delivery, RequestBody, TurnRequest } from '../model/turn.ts'
import type { CarriedReply, Carrier } from '../wire/carrier.ts'
import { type ChatDialect, chatDialect } from '../wire/chat/dialects.ts'
import { fieldsLeftOut, retargetRequest } from '../wire/chat/retarget-request.ts'
import type { TurnVoice } from './turn-voice.ts'

/** A lane's language, with its oddities. */
export type LaneDialect = ChatDialect

export const laneDialect = ({ upstream }: Lane): LaneDialect => chatDialect(upstream.dialect)

/**
 * How one request goes to one lane, and how its answer comes back: relayed where client and lane speak the same language,
 * translated where they do not.
 */
export interface Road {
  /** What the provider is asked for: an answer in another language is read as a stream, whatever the client wants. */
  readonly delivery: Delivery
  write(target: RoadTarget): { readonly body: Buffer; readonly leftOut: readonly string[] }
  /** For an answer that streams. */
  carrier(): Carrier
  /** For an answer in one piece. */
  carryReply(body: RequestBody, value: unknown): CarriedReply
}

export interface RoadTarget {
  readonly entry: CatalogEntry
  readonly effort: Effort | undefined
  /** The most that the provider may produce: what the hold covers. */
  readonly outputCap: number
}

export function roadTo(lane: Lane, dialect: LaneDialect, turn: TurnRequest, voice: TurnVoice): Road {
  switch (voice.protocol) {
    case 'chat': {
      const target = { model: lane.model, dialect }
      return {
        delivery: turn.delivery,
        write({ entry, effort, outputCap }) {
          const leftOut = fieldsLeftOut(turn, dialect, entry.model.passFields)
          return { body: retargetRequest(turn, { model: lane.model, effort, outputCap, dialect, leftOut }), leftOut }
        },
        carrier: () => voice.relay(target),
        carryReply: (body, value) => voice.relayReply(body, value, target),
      }
    }
    default:
      return assertNever(voice.protocol)
  }
}
