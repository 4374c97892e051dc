import type { Lane } from '../catalog/catalog.ts'
import { createLruMap } from '../lib/lru-map.ts'

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

/**
 * Which lane a conversation is on: the one whose provider has its beginning in a cache, and can read what it has signed.
 * It stays there until it was silent for so long, even where a lane that is tried before it has recovered meanwhile: going
 * back would cost the cache a second time.
 */
export interface StickyLanes {
  /** The origin of the lane, by the first of its names that is known. */
  find(names: ConversationNames): string | undefined
  /** Under its names, from now on. Where another turn has taken it meanwhile it stays: two would pull it back and forth. */
  remember(names: ConversationNames, move: LaneMove): void
}

interface LaneMove {
  readonly origin: string
  /** Where this turn has found it, and perhaps could not stay. */
  readonly cameFrom: string | undefined
}

/** What a conversation is known by, the surest name first. */
export interface ConversationNames {
  /** By these it is found. */
  readonly findBy: readonly string[]
  /** By these its next turn can be found: those above, and perhaps one that is not sure enough yet. */
  readonly rememberAs: readonly string[]
}

/** Longer than any provider keeps a prompt that nobody uses: most say five minutes, some an hour. */
const LIFE_MICROS = 3_700_000_000
/** Some twenty megabytes. */
const NAMES_MAX = 100_000

interface Stay {
  readonly origin: string
  readonly at: number
}

export function createStickyLanes({ nowMicros }: { readonly nowMicros: () => number }): StickyLanes {
  const stays = createLruMap<string, Stay>(NAMES_MAX)
  const originAt = (name: string): string | undefined => {
    const stay = stays.get(name)
    return stay !== undefined && nowMicros() - stay.at < LIFE_MICROS ? stay.origin : undefined
  }
  return {
    find({ findBy }) {
      for (const name of findBy) {
        const origin = originAt(name)
        if (origin !== undefined) return origin
      }
      return undefined
    },
    remember({ findBy: [surest], rememberAs }, { origin, cameFrom }) {
      const now = surest === undefined ? undefined : originAt(surest)
      if (now !== undefined && now !== origin && now !== cameFrom) return
      for (const name of rememberAs) {
        const isKnown = originAt(name) === origin
        stays.set(name, { origin, at: nowMicros() })
        // A less sure name may be another conversation's by now, which begins alike.
        if (isKnown) return
      }
    },
  }
}
