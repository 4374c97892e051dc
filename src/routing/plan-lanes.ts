import type { Lane } from '../catalog/catalog.ts'

export interface LaneOrder {
  readonly random: () => number
  /** Of the calls that its weight would give a lane. */
  readonly shareOf: (lane: Lane) => number
  /** Of the lane that the conversation is on. */
  readonly origin: string | undefined
}

/**
 * The order in which lanes are tried: the one that the conversation is on, then lower priority numbers first, and among
 * equals a draw by weight, so that the load spreads as the operator asked.
 */
export function planLanes(lanes: readonly Lane[], { random, shareOf, origin }: LaneOrder): readonly Lane[] {
  if (lanes.length === 1) return lanes
  const isFirst = (lane: Lane): number => (lane.origin === origin ? 0 : 1)
  const drawn = lanes.map((lane) => ({ lane, key: drawKey(lane.weight * shareOf(lane), random()) }))
  drawn.sort((a, b) => isFirst(a.lane) - isFirst(b.lane) || a.lane.priority - b.lane.priority || a.key - b.key)
  return drawn.map(({ lane }) => lane)
}

/** Exponential keys: sorting by them is drawing without replacement in proportion to the weights. */
const drawKey = (weight: number, uniform: number): number => -Math.log(1 - uniform) / weight
