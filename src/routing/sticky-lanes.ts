import { createLruMap } from '../lib/lru-map.ts'

/**
 * Which lane a conversation is on: the one whose provider has its beginning in a cache, and can read what it has signed.
 * It stays there until it was silent for so long, even where a lane that is tried before it has recovered meanwhile: going
 * back would cost the cache a second time.
 */
export interface StickyLanes {
  /** The origin of the lane, by the first of its names that is known. */
  find(names: readonly string[]): string | undefined
  /** Under all of its names, from now on. */
  remember(names: readonly string[], origin: string): void
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
  return {
    find(names) {
      for (const name of names) {
        const stay = stays.get(name)
        if (stay !== undefined && ticks() - stay.at < LIFE_MICROS) return stay.origin
      }
      return undefined
    },
    remember(names, origin) {
      for (const name of names) stays.set(name, { origin, at: ticks() })
    },
  }
}
