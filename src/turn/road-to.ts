import type { Lane } from '../catalog/catalog.ts'
import type { ChatRequest, ResponsesRequest } from '../model/turn.ts'
import type { ChatDialect } from '../wire/chat/dialects.ts'
import * as chat from '../wire/chat/retarget-request.ts'
import type { ChatVoice } from '../wire/chat/voice.ts'
import { codecs, type LaneDialect } from '../wire/codecs.ts'
import { noticeSeals } from '../wire/notice-seals.ts'
import { beyondConversation } from '../wire/responses/beyond-conversation.ts'
import type { ResponsesDialect } from '../wire/responses/dialects.ts'
import { takesToolsOf } from '../wire/responses/native-tools.ts'
import * as responses from '../wire/responses/retarget-request.ts'
import type { ResponsesVoice } from '../wire/responses/voice.ts'
import { restoreSeals } from '../wire/restore-seals.ts'
import { restoreTools } from '../wire/restore-tools.ts'
import type { ToolNames } from '../wire/tool-names.ts'
import { compactionRoad } from './compaction-road.ts'
import type { Journey, Road } from './road.ts'

/** The road from this client to this lane. */
export function roadTo(lane: Lane, dialect: LaneDialect, journey: Journey): Road {
  const { turn, voice } = journey
  if (turn.protocol === 'chat' && voice.protocol === 'chat' && dialect.wire === 'chat') {
    return relay(lane, dialect, turn, voice)
  }
  if (turn.protocol === 'responses' && turn.compacts && voice.protocol === 'responses') {
    return compactionRoad(lane, dialect, { ...journey, turn, voice })
  }
  const speaksResponses = turn.protocol === 'responses' && voice.protocol === 'responses'
  if (speaksResponses && dialect.wire === 'responses' && (turn.boundTo !== undefined || takesToolsOf(dialect, turn))) {
    return reEmission(lane, dialect, turn, voice)
  }
  return translation(lane, dialect, journey)
}

function relay({ model }: Lane, dialect: ChatDialect, turn: ChatRequest, voice: ChatVoice): Road {
  const lane = { model, dialect }
  return {
    delivery: turn.delivery,
    write({ entry, ...target }) {
      const leftOut = chat.fieldsLeftOut(turn, dialect, entry.model.passFields)
      return { body: chat.retargetRequest(turn, { ...target, ...lane, leftOut }), leftOut }
    },
    carrier: () => voice.relay(lane),
    carryReply: (body, value) => voice.relayReply(body, value, lane),
  }
}

function reEmission(
  { model, origin }: Lane,
  dialect: ResponsesDialect,
  turn: ResponsesRequest,
  voice: ResponsesVoice,
): Road {
  return {
    delivery: turn.delivery,
    write({ entry, ...target }) {
      const leftOut = responses.fieldsLeftOut(turn, dialect, entry.model.passFields)
      return { body: responses.retargetRequest(turn, { ...target, model, origin, dialect, leftOut }), leftOut }
    },
    carrier: () => voice.reEmit(origin),
    carryReply: (_body, value) => voice.reEmitReply(value, origin),
  }
}

function translation({ model, origin }: Lane, dialect: LaneDialect, journey: Journey): Road {
  const { turn, voice, mint, callSeals } = journey
  // Who speaks Responses carries what is sealed itself.
  const carriesSeals = turn.protocol === 'responses'
  let tools: ToolNames | undefined
  return {
    delivery: 'stream',
    write({ effort, outputCap }) {
      const target = { model, origin, dialect, effort, outputCap, delivery: 'stream' } as const
      const read = codecs.readConversation(turn)
      const written = codecs.writeRequest(carriesSeals ? read : restoreSeals(read, callSeals.find), target)
      tools = written.tools
      const beyond = turn.protocol === 'responses' ? beyondConversation(turn) : []
      return { body: written.body, leftOut: [...new Set([...turn.optionalFields, ...beyond, ...written.leftOut])] }
    },
    carrier() {
      const lane = codecs.createEventReader({ dialect, origin }, mint)
      const reader = carriesSeals ? lane : noticeSeals(lane, callSeals.keep)
      return voice.translate(tools === undefined ? reader : restoreTools(reader, tools))
    },
  }
}
