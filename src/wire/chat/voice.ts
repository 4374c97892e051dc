import type { ChatRequest, RequestBody } from '../../model/turn.ts'
import type { CarriedReply, Carrier } from '../carrier.ts'
import type { MintIds } from '../mint-ids.ts'
import type { Voice } from '../voice.ts'
import { carryReply } from './carry-reply.ts'
import { carryStream } from './carry-stream.ts'
import type { ChatDialect } from './dialects.ts'
import { failureFrame } from './problem.ts'
import { translateReply, translateStream } from './translate.ts'
import type { ChunkStamp } from './write-events.ts'

/** A lane that speaks Chat itself. */
export interface ChatLane {
  /** The name that the lane has for the model. */
  readonly model: string
  readonly dialect: ChatDialect
}

export interface ChatVoice extends Voice {
  readonly protocol: 'chat'
  /** The bytes of a lane that speaks Chat, mended where clients need it. */
  relay(lane: ChatLane): Carrier
  relayReply(body: RequestBody, value: unknown, lane: ChatLane): CarriedReply
}

export interface ChatVoiceOptions {
  readonly turn: ChatRequest
  /** The id of the model as clients know it. */
  readonly model: string
  readonly requestId: string
  readonly mint: MintIds
  /** Wall time in milliseconds. */
  readonly now: () => number
}

/** One answer in Chat's words, whatever its lane speaks. */
export function openChatVoice({ turn, model, requestId, mint, now }: ChatVoiceOptions): ChatVoice {
  let stamp: ChunkStamp | undefined
  return {
    protocol: 'chat',
    // A comment does, and whoever writes to the socket knows how to make one.
    keepAlive: () => undefined,
    fail: (problem) => failureFrame(problem, requestId),
    relay: (lane) =>
      carryStream(turn, {
        laneModel: lane.model,
        publicModel: model,
        dialect: lane.dialect,
        mint,
        choices: turn.choices,
        now,
      }),
    relayReply: (body, value, { dialect }) => carryReply(turn, body, value, { dialect, mint }),
    translate(reader) {
      stamp ??= { id: mint.completionId(), created: Math.floor(now() / 1000), model }
      return turn.delivery === 'json' ? translateReply(reader, stamp) : translateStream(reader, stamp, turn.wantsUsage)
    },
  }
}
