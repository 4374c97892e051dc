import type { Fields } from '../../lib/is-object.ts'
import type { HeardItem } from './item-queue.ts'
import type { ItemKind } from './spoken-item.ts'

/**
 * Which item an event speaks of. Servers name it by id, by index, by both, by neither, and some change the id in between;
 * an item of a tool that the provider runs itself is remembered too, so that its events are known for what they are.
 */
export interface HeardItems {
  /** For an event about parts or words of a kind of item; undefined when none is meant that is still open. */
  find(event: Fields, kind: ItemKind): HeardItem | 'not-ours' | undefined
  /** For the item itself, as it begins, ends, or stands in the whole response. */
  findItem(options: {
    id: string | undefined
    index: number | undefined
    kind: ItemKind
  }): HeardItem | 'not-ours' | undefined
  add(heard: HeardItem): void
  addNotOurs(options: { id: string | undefined; index: number | undefined }): void
  readonly all: readonly HeardItem[]
  /** The next index, for an item that comes without one. */
  nextIndex(): number
}

export function createHeardItems(): HeardItems {
  const all: HeardItem[] = []
  const byId = new Map<string, HeardItem | 'not-ours'>()
  const byIndex = new Map<number, HeardItem | 'not-ours'>()
  let nextIndex = 0

  const seen = (index: number): void => {
    nextIndex = Math.max(nextIndex, index + 1)
  }
  const isOpen = (found: HeardItem | 'not-ours' | undefined, kind: ItemKind): found is HeardItem | 'not-ours' =>
    found === 'not-ours' || (found !== undefined && !found.hasEnded && found.item.kind === kind)

  return {
    all,
    nextIndex: () => nextIndex,
    find(event, kind) {
      const { item_id: id, output_index: index } = event
      const named = typeof id === 'string' ? byId.get(id) : undefined
      if (isOpen(named, kind)) return named
      const placed = typeof index === 'number' ? byIndex.get(index) : undefined
      if (named === undefined && isOpen(placed, kind)) return placed
      // Without any address the words are those of the item that was begun last.
      if (id !== undefined || index !== undefined) return undefined
      const last = all[all.length - 1]
      return isOpen(last, kind) ? last : undefined
    },
    findItem({ id, index, kind }) {
      const named = id === undefined ? undefined : byId.get(id)
      if (named !== undefined) return named
      const placed = index === undefined ? undefined : byIndex.get(index)
      return placed !== undefined && placed !== 'not-ours' && placed.item.kind === kind ? placed : undefined
    },
    add(heard) {
      all.push(heard)
      byIndex.set(heard.index, heard)
      if (heard.id !== undefined) byId.set(heard.id, heard)
      seen(heard.index)
    },
    addNotOurs({ id, index }) {
      const at = index ?? nextIndex
      byIndex.set(at, 'not-ours')
      if (id !== undefined) byId.set(id, 'not-ours')
      seen(at)
    },
  }
}
