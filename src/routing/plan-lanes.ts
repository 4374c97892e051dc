import type { Lane } from '../catalog/catalog.ts'

/** Of the calls that its weight would give a lane. */
type ShareOf = (lane: Lane) => number

export interface LaneOrder {
  readonly random: () => number
  readonly shareOf: ShareOf
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
  const drawn = lanes.map((lane) => ({ lane, key: drawKey(weightOf(lane, shareOf), random()) }))
  drawn.sort((a, b) => isFirst(a.lane) - isFirst(b.lane) || a.lane.priority - b.lane.priority || a.key - b.key)
  return drawn.map(({ lane }) => lane)
}

/** The same draw in numbers: which of these lanes come first where no conversation is on one, and how often, of 1 in all. */
export function firstShares(lanes: readonly Lane[], shareOf: ShareOf): ReadonlyMap<Lane, number> {
  const priority = Math.min(...lanes.map((lane) => lane.priority))
  const first = lanes.filter((lane) => lane.priority === priority)
  const whole = first.reduce((sum, lane) => sum + weightOf(lane, shareOf), 0)
  return new Map(first.map((lane) => [lane, weightOf(lane, shareOf) / whole]))
}

const weightOf = (lane: Lane, shareOf: ShareOf): number => lane.weight * shareOf(lane)

/** Exponential keys: sorting by them is drawing without replacement in proportion to the weights. */
const drawKey = (weight: number, uniform: number): number => -Math.log(1 - uniform) / weight
