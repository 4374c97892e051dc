import type { Lane } from '../../catalog/catalog.ts'
import type { ChatRequest, ResponsesRequest } from '../../model/turn.ts'
import type { ChatDialect } from '../../wire/chat/dialects.ts'
import * as chat from '../../wire/chat/retarget-request.ts'
import type { ChatVoice } from '../../wire/chat/voice.ts'
import { codecs, type LaneDialect } from '../../wire/codecs.ts'
import { noticeSeals } from '../../wire/notice-seals.ts'
import { readAnswerTool } from '../../wire/read-answer-tool.ts'
import { beyondConversation } from '../../wire/responses/beyond-conversation.ts'
import type { ResponsesDialect } from '../../wire/responses/dialects.ts'
import { takesToolsOf } from '../../wire/responses/native-tools.ts'
import * as responses from '../../wire/responses/retarget-request.ts'
import type { ResponsesVoice } from '../../wire/responses/voice.ts'
import { restoreSeals } from '../../wire/restore-seals.ts'
import { restoreTools } from '../../wire/restore-tools.ts'
import type { ToolNames } from '../../wire/tool-names.ts'
import { compactionRoad } from './compaction-road.ts'
import type { Journey, Road } from './road.ts'

/** The road from this client to this lane. */
export function roadTo(lane: Lane, dialect: LaneDialect, journey: Journey): Road {
  const { request, voice } = journey
  if (request.protocol === 'chat' && voice.protocol === 'chat' && dialect.wire === 'chat') {
    return relay(lane, dialect, { ...journey, request, voice })
  }
  if (request.protocol === 'responses' && request.compacts && voice.protocol === 'responses') {
    return compactionRoad(lane, dialect, { ...journey, request, voice })
  }
  const speaksResponses = request.protocol === 'responses' && voice.protocol === 'responses'
  if (
    speaksResponses &&
    dialect.wire === 'responses' &&
    (request.boundTo !== undefined || takesToolsOf(dialect, request))
  ) {
    return reEmission(lane, dialect, { ...journey, request, voice })
  }
  return translation(lane, dialect, journey)
}

interface ChatJourney extends Journey {
  readonly request: ChatRequest
  readonly voice: ChatVoice
}

function relay({ model }: Lane, dialect: ChatDialect, { request, voice, cacheSalt }: ChatJourney): Road {
  const lane = { model, dialect }
  return {
    delivery: request.delivery,
    write({ entry, ...target }) {
      const asked = { ...target, ...lane, cacheSalt }
      const leftOut = chat.fieldsLeftOut(request, asked, entry.model.passFields)
      return { body: chat.retargetRequest(request, { ...asked, leftOut }), leftOut }
    },
    carrier: () => voice.relay(lane),
    carryReply: (body, value) => voice.relayReply(body, value, lane),
  }
}

interface ResponsesJourney extends Journey {
  readonly request: ResponsesRequest
  readonly voice: ResponsesVoice
}

function reEmission(
  { model, origin }: Lane,
  dialect: ResponsesDialect,
  { request, voice, cacheSalt }: ResponsesJourney,
): Road {
  return {
    delivery: request.delivery,
    write({ entry, ...target }) {
      const asked = { ...target, model, origin, dialect, cacheSalt }
      const leftOut = responses.fieldsLeftOut(request, asked, entry.model.passFields)
      return { body: responses.retargetRequest(request, { ...asked, leftOut }), leftOut }
    },
    carrier: () => voice.reEmit(origin),
    carryReply: (_body, value) => voice.reEmitReply(value, origin),
  }
}

function translation({ model, origin, promptCache }: Lane, dialect: LaneDialect, journey: Journey): Road {
  const { request, voice, mint, callSeals, cacheSalt } = journey
  // Who speaks Responses carries what is sealed itself.
  const carriesSeals = request.protocol === 'responses'
  let tools: ToolNames | undefined
  let answerTool: string | undefined
  return {
    delivery: 'stream',
    write({ effort, outputCap }) {
      const client = request.protocol
      const lane = { model, origin, promptCache, dialect, cacheSalt }
      const target = { ...lane, effort, outputCap, client, delivery: 'stream' } as const
      const read = codecs.readConversation(request)
      const written = codecs.writeRequest(carriesSeals ? read : restoreSeals(read, callSeals.find), target)
      tools = written.tools
      answerTool = written.answerTool
      const beyond = request.protocol === 'responses' ? beyondConversation(request) : []
      return { body: written.body, leftOut: [...new Set([...request.optionalFields, ...beyond, ...written.leftOut])] }
    },
    carrier() {
      const said = codecs.createEventReader({ dialect, origin }, mint)
      const lane = answerTool === undefined ? said : readAnswerTool(said, answerTool)
      const reader = carriesSeals ? lane : noticeSeals(lane, callSeals.keep)
      return voice.translate(tools === undefined ? reader : restoreTools(reader, tools))
    },
  }
}
