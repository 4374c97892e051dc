import type { Lane } from '../catalog/catalog.ts'
import type { ChatRequest, ResponsesRequest } from '../model/turn.ts'
import type { ChatDialect } from '../wire/chat/dialects.ts'
import * as chat from '../wire/chat/retarget-request.ts'
import type { ChatVoice } from '../wire/chat/voice.ts'
import { codecs, type LaneDialect } from '../wire/codecs.ts'
import type { ResponsesDialect } from '../wire/responses/dialects.ts'
import { beyondConversation } from '../wire/responses/read-conversation.ts'
import * as responses from '../wire/responses/retarget-request.ts'
import { takesToolsOf } from '../wire/responses/retarget-request.ts'
import type { ResponsesVoice } from '../wire/responses/voice.ts'
import { noticeSeals, restoreSeals } from '../wire/seals/call-seals.ts'
import { readAnswerTool } from '../wire/tools/answer-tool.ts'
import { restoreTools } from '../wire/tools/restore-tools.ts'
import type { ToolNames } from '../wire/tools/tool-names.ts'
import { compactionRoad } from './compaction-road.ts'
import type { Journey, Road } from './road.ts'

/** The road from this client to this lane. */
export function roadTo(lane: Lane, dialect: LaneDialect, journey: Journey): Road {
  const { turn, voice } = journey
  if (turn.protocol === 'chat' && voice.protocol === 'chat' && dialect.wire === 'chat') {
    return relay(lane, dialect, { ...journey, turn, voice })
  }
  if (turn.protocol === 'responses' && turn.compacts && voice.protocol === 'responses') {
    return compactionRoad(lane, dialect, { ...journey, turn, voice })
  }
  const speaksResponses = turn.protocol === 'responses' && voice.protocol === 'responses'
  if (speaksResponses && dialect.wire === 'responses' && (turn.boundTo !== undefined || takesToolsOf(dialect, turn))) {
    return reEmission(lane, dialect, { ...journey, turn, voice })
  }
  return translation(lane, dialect, journey)
}

interface ChatJourney extends Journey {
  readonly turn: ChatRequest
  readonly voice: ChatVoice
}

function relay({ model }: Lane, dialect: ChatDialect, { turn, voice, cacheSalt }: ChatJourney): Road {
  const lane = { model, dialect }
  return {
    delivery: turn.delivery,
    write({ entry, ...target }) {
      const asked = { ...target, ...lane, cacheSalt }
      const leftOut = chat.fieldsLeftOut(turn, asked, entry.model.passFields)
      return { body: chat.retargetRequest(turn, { ...asked, leftOut }), leftOut }
    },
    carrier: () => voice.relay(lane),
    carryReply: (body, value) => voice.relayReply(body, value, lane),
  }
}

interface ResponsesJourney extends Journey {
  readonly turn: ResponsesRequest
  readonly voice: ResponsesVoice
}

function reEmission(
  { model, origin }: Lane,
  dialect: ResponsesDialect,
  { turn, voice, cacheSalt }: ResponsesJourney,
): Road {
  return {
    delivery: turn.delivery,
    write({ entry, ...target }) {
      const asked = { ...target, model, origin, dialect, cacheSalt }
      const leftOut = responses.fieldsLeftOut(turn, asked, entry.model.passFields)
      return { body: responses.retargetRequest(turn, { ...asked, leftOut }), leftOut }
    },
    carrier: () => voice.reEmit(origin),
    carryReply: (_body, value) => voice.reEmitReply(value, origin),
  }
}

function translation({ model, origin, promptCache }: Lane, dialect: LaneDialect, journey: Journey): Road {
  const { turn, voice, mint, callSeals, cacheSalt } = journey
  // Who speaks Responses carries what is sealed itself.
  const carriesSeals = turn.protocol === 'responses'
  let tools: ToolNames | undefined
  let answerTool: string | undefined
  return {
    delivery: 'stream',
    write({ effort, outputCap }) {
      const client = turn.protocol
      const lane = { model, origin, promptCache, dialect, cacheSalt }
      const target = { ...lane, effort, outputCap, client, delivery: 'stream' } as const
      const read = codecs.readConversation(turn)
      const written = codecs.writeRequest(carriesSeals ? read : restoreSeals(read, callSeals.find), target)
      tools = written.tools
      answerTool = written.answerTool
      const beyond = turn.protocol === 'responses' ? beyondConversation(turn) : []
      return { body: written.body, leftOut: [...new Set([...turn.optionalFields, ...beyond, ...written.leftOut])] }
    },
    carrier() {
      const said = codecs.createEventReader({ dialect, origin }, mint)
      const lane = answerTool === undefined ? said : readAnswerTool(said, answerTool)
      const reader = carriesSeals ? lane : noticeSeals(lane, callSeals.keep)
      return voice.translate(tools === undefined ? reader : restoreTools(reader, tools))
    },
  }
}
