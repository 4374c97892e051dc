import type { Lane } from '../../catalog/catalog.ts'
import type { TurnRequest } from '../../model/turn.ts'
import { laneDialect } from '../../routing/lane-dialect.ts'
import { codecs } from '../../wire/codecs.ts'
import { type CallSeals, restoreSeals } from '../../wire/seals/call-seals.ts'
import { opaqueForLane } from '../../wire/seals/opaque-for-lane.ts'

/**
 * The same request, as large as a lane may get it: what is put back in front of its calls is read by the provider like all
 * the rest, so the hold, the limits and the charge have to cover it. Of several lanes the one counts that gets the most.
 */
export function withGivenBack(request: TurnRequest, lanes: readonly Lane[], callSeals: CallSeals): TurnRequest {
  if (request.protocol !== 'chat' || callSeals.isEmpty()) return request
  // To a lane that speaks Chat too the messages go as they came.
  if (lanes.every((lane) => laneDialect(lane).wire === 'chat')) return request
  const { items } = restoreSeals(codecs.readConversation(request), callSeals.find)
  const opaques = items.flatMap((item) => (item.type === 'reasoning' && item.opaque ? [item.opaque] : []))
  const bytesFor = (lane: Lane): number => {
    const opening = { origin: lane.origin, dialect: laneDialect(lane) }
    return opaques.reduce((sum, opaque) => sum + Buffer.byteLength(opaqueForLane(opaque, opening) ?? ''), 0)
  }
  const bytes = Math.max(...lanes.map(bytesFor))
  if (bytes === 0) return request
  const { inputSize } = request
  return {
    ...request,
    inputSize: {
      ...inputSize,
      bodyBytes: inputSize.bodyBytes + bytes,
      inputBytes: inputSize.inputBytes + bytes,
    },
  }
}
