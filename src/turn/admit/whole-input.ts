import type { Lane } from '../../catalog/catalog.ts'
import type { SizedInput } from '../../metering/size-input.ts'
import type { TurnRequest } from '../../model/turn.ts'
import { laneDialect } from '../../routing/lane-dialect.ts'
import { codecs } from '../../wire/codecs.ts'
import { type CallSeals, restoreSeals } from '../../wire/seals/call-seals.ts'
import { opaqueForLane } from '../../wire/seals/opaque-for-lane.ts'
import { SUMMARY_REQUEST_BYTES } from '../../wire/summary.ts'

/**
 * How much a provider may get to read: what the client has sent, and what we add to it. That is the message that asks for a
 * summary, and what was sealed before calls, which a Chat client cannot give back. It is input like all the rest, so the
 * hold, the limits and the charge have to cover it.
 */
export async function wholeInput(
  request: TurnRequest,
  lanes: readonly Lane[],
  callSeals: CallSeals,
): Promise<SizedInput> {
  const summaries = request.compacts === undefined ? 0 : 1
  const bytes = summaries * SUMMARY_REQUEST_BYTES + (await bytesGivenBack(request, lanes, callSeals))
  if (bytes === 0) return request
  const { bodyBytes, inputBytes, messages, tools } = request.inputSize
  return {
    inputSize: { bodyBytes: bodyBytes + bytes, inputBytes: inputBytes + bytes, messages: messages + summaries, tools },
    otherInputs: request.otherInputs,
  }
}

/** What is put back in front of its calls. Of several lanes the one counts that gets the most. */
async function bytesGivenBack(request: TurnRequest, lanes: readonly Lane[], callSeals: CallSeals): Promise<number> {
  if (request.protocol !== 'chat' || callSeals.isEmpty()) return 0
  // To a lane that speaks Chat too the messages go as they came.
  if (lanes.every((lane) => laneDialect(lane).wire === 'chat')) return 0
  const conversation = codecs.readConversation(request, await codecs.parseRequest(request))
  const { items } = restoreSeals(conversation, callSeals.find)
  const opaques = items.flatMap((item) => (item.type === 'reasoning' && item.opaque ? [item.opaque] : []))
  const bytesFor = (lane: Lane): number => {
    const opening = { origin: lane.origin, dialect: laneDialect(lane) }
    return opaques.reduce((sum, opaque) => sum + Buffer.byteLength(opaqueForLane(opaque, opening) ?? ''), 0)
  }
  return Math.max(...lanes.map(bytesFor))
}
