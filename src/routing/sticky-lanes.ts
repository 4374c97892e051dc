import { createLruMap } from '../lib/lru-map.ts'

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

export interface LaneMove {
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

export function createStickyLanes({ ticks }: { readonly ticks: () => number }): StickyLanes {
  const stays = createLruMap<string, Stay>(NAMES_MAX)
  const originAt = (name: string): string | undefined => {
    const stay = stays.get(name)
    return stay !== undefined && ticks() - stay.at < LIFE_MICROS ? stay.origin : undefined
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
        stays.set(name, { origin, at: ticks() })
        // A less sure name may be another conversation's by now, which begins alike.
        if (isKnown) return
      }
    },
  }
}
