/** A map with a bound: when it is full, what was not used for the longest time makes room. */
interface LruMap<Key, Value> {
  get(key: Key): Value | undefined
  set(key: Key, value: Value): void
  delete(key: Key): void
  clear(): void
  entries(): IterableIterator<[Key, Value]>
  readonly size: number
}

export function createLruMap<Key, Value>(sizeMax: number): LruMap<Key, Value> {
  // A Map remembers the order in which its keys came: the first one is the oldest.
  const map = new Map<Key, Value>()
  return {
    get(key) {
      const value = map.get(key)
      if (value === undefined) return undefined
      map.delete(key)
      map.set(key, value)
      return value
    },
    set(key, value) {
      map.delete(key)
      if (map.size >= sizeMax) map.delete(map.keys().next().value as Key)
      map.set(key, value)
    },
    delete: (key) => void map.delete(key),
    clear: () => map.clear(),
    entries: () => map.entries(),
    get size() {
      return map.size
    },
  }
}

/** What was made for a key is made once, and kept for as long as whoever asks: for keys that are few. */
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
