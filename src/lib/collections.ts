/**
 * An unordered set of items that live as long as a request. A Set would cost the garbage collector more: V8 links each outgrown
 * table of a Set to the next one, and once one of them is in the old generation, everything in the later tables stays until the
 * next full collection. A bag reuses its places.
 */
export interface Bag<Item> {
  readonly size: number
  /** Returns how to remove the item; a second call does nothing. */
  add(item: Item): () => void
  /** Skips items that are removed meanwhile. */
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

/** A bounded map: when it is full, the least recently used entry is removed. */
export interface LruMap<Key, Value> {
  get(key: Key): Value | undefined
  set(key: Key, value: Value): void
  delete(key: Key): void
  clear(): void
  entries(): IterableIterator<[Key, Value]>
  readonly size: number
}

export function createLruMap<Key, Value>(sizeMax: number): LruMap<Key, Value> {
  // A Map keeps the order of insertion: the first key is the oldest.
  const map = new Map<Key, Value>()
  // The last key of the map, which need not be moved to its end.
  let newest: Key | undefined
  return {
    get(key) {
      const value = map.get(key)
      if (value === undefined || key === newest) return value
      map.delete(key)
      map.set(key, value)
      newest = key
      return value
    },
    set(key, value) {
      map.delete(key)
      if (map.size >= sizeMax) map.delete(map.keys().next().value as Key)
      map.set(key, value)
      newest = key
    },
    delete(key) {
      map.delete(key)
      if (key === newest) newest = undefined
    },
    clear() {
      map.clear()
      newest = undefined
    },
    entries: () => map.entries(),
    get size() {
      return map.size
    },
  }
}

/** Makes a value once for each key and keeps it. For few keys. */
export function remember<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new Map<Key, Value>()
  return (key) => {
    const known = made.get(key)
    if (known !== undefined) return known
    const value = make(key)
    made.set(key, value)
    return value
  }
}

/** Each group in the order of its items. */
export function groupBy<Item, Name>(items: readonly Item[], nameOf: (item: Item) => Name): Map<Name, Item[]> {
  const groups = new Map<Name, Item[]>()
  for (const item of items) {
    const name = nameOf(item)
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [item])
    else group.push(item)
  }
  return groups
}
