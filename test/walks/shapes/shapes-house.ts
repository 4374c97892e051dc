import type { Fields } from '../../../src/lib/is-object.ts'
import { LANES, type LaneCase, type LaneHouse, useLanes } from '../../sdks/lanes.ts'

export { LANES, type LaneHouse }

/** One more model on each lane for every way in which a catalogue can speak of efforts. */
const graded = (lane: LaneCase): string => `${lane.model}-graded`
const plain = (lane: LaneCase): string => `${lane.model}-plain`

const entry = (id: string, efforts: string, { model }: LaneCase): string =>
  `  - { id: ${id}, efforts: [${efforts}], context_tokens: 128000, max_output_tokens: 8192, price: { input: "1.00", output: "2.00" }, lanes: [{ upstream: ${model}, model: ${model === 'demo' ? 'demo-fast' : 'whole'} }] }\n`

const MORE = LANES.flatMap((lane) => [entry(graded(lane), 'low, medium, high', lane), entry(plain(lane), '', lane)])

/** A server in front of the strict providers of both protocols, and of the demo. */
export const useShapes = (): (() => LaneHouse) => useLanes(MORE.join(''))

/** Models on one lane: with efforts and suffixed ids, and with none at all. */
export const modelsOf = (lane: LaneCase) => ({ graded: graded(lane), plain: plain(lane) })

/** The effort that the provider behind a lane was asked for last; the demo tells nobody. */
export function effortAsked(house: LaneHouse, { model }: LaneCase): unknown {
  const asked = house.asked(model).at(-1)
  return asked?.reasoning_effort ?? (asked?.reasoning as Fields | undefined)?.effort
}
