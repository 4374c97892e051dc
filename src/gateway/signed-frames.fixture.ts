import { isObject } from '../lib/types.ts'
import type { LaneWire } from '../model/event.ts'
import type { EncodedFrame, Json } from '../protocols/hostile/dice.fixture.ts'

/** The frames of an answer with what its provider signs or seals of them, each time otherwise. */
export const signed = (wire: LaneWire, frames: readonly EncodedFrame[], turn: number): EncodedFrame[] =>
  frames.flatMap((frame) => SIGNERS[wire](frame, turn))

const SIGNERS: Readonly<Record<LaneWire, (frame: EncodedFrame, turn: number) => EncodedFrame[]>> = {
  chat: (frame) => [frame],
  responses: (frame, turn) => [eachObject(frame, (value) => (isSealed(value) ? sealed(value, turn) : value))],
  anthropic: signThinking,
  gemini: (frame, turn) => [
    eachObject(frame, (value) => ('functionCall' in value ? { ...value, thoughtSignature: `sig-${turn}` } : value)),
  ],
}

const isSealed = ({ type, summary }: Json): boolean =>
  type === 'reasoning' && Array.isArray(summary) && summary.length > 0
const sealed = (item: Json, turn: number): Json => ({ ...item, encrypted_content: `enc-${turn}-${item.id}` })

/** The signature comes with the last delta. */
function signThinking(frame: EncodedFrame, turn: number): EncodedFrame[] {
  const said = frame.said as Json
  if (said.type !== 'content_block_delta' || !isObject(said.delta) || said.delta.type !== 'thinking_delta')
    return [frame]
  const delta = { type: 'signature_delta', signature: `sig-${turn}-${said.index}` }
  return [frame, { ...frame, said: { ...said, delta } }]
}

const eachObject = (frame: EncodedFrame, change: (value: Json) => Json): EncodedFrame => ({
  ...frame,
  said: JSON.parse(JSON.stringify(frame.said), (_name, value) => (isObject(value) ? change(value) : value)),
})
