/**
 * Things that come and go with every request, in no order. A Set would do, but for the garbage collector: V8 ties each
 * outgrown table of a Set or Map to the one that follows it, and once one of them has grown old, whatever ever stood in
 * the later ones is carried along until the next full collection. Here a place is simply used again.
 */
export interface Bag<Item> {
  readonly size: number
  /** Returns how to take it out again; doing that twice does nothing. */
  add(item: Item): () => void
  /** What is taken out meanwhile is not visited any more. */
  each(visit: (item: Item) => void): void
}

export function createBag<Item extends object>(): Bag<Item> {
  const places: (Item | undefined)[] = []
  const free: number[] = []
  return {
    get size() {
      return places.length - free.length
    },
    add(item) {
      const place = free.pop() ?? places.length
      places[place] = item
      let isIn = true
      return () => {
        if (!isIn) return
        isIn = false
        places[place] = undefined
        free.push(place)
      }
    },
    each(visit) {
      for (let place = 0; place < places.length; place++) {
        const item = places[place]
        if (item !== undefined) visit(item)
      }
    },
  }
}
