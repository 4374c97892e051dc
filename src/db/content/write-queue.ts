/** The most that is written in one commit. */
const WRITTEN_BYTES_MAX = 8 * 1024 * 1024

interface Waiting<Entry, Result> {
  readonly entry: Entry
  resolve(result: Result): void
  reject(error: unknown): void
}

/**
 * Makes one change of a file at a time, because two would make room by deleting the same rows. Entries that come while one
 * group is written form the next group, so that a slow disk does fewer commits.
 */
export function createWriteQueue<Entry, Result>(options: {
  readonly bytesOf: (entry: Entry) => number
  readonly bytesMax?: number
  /** Returns a result for each entry of the group, which has this many bytes. */
  readonly write: (group: readonly Entry[], bytes: number) => Promise<readonly Result[]>
}) {
  const bytesMax = Math.min(options.bytesMax ?? WRITTEN_BYTES_MAX, WRITTEN_BYTES_MAX)
  const waiting: Waiting<Entry, Result>[] = []
  let last: Promise<unknown> = Promise.resolve()

  /** Runs between two groups. */
  const inTurn = <Done>(work: () => Promise<Done>): Promise<Done> => {
    const done = last.then(work)
    last = done.catch(() => {})
    return done
  }
  /** As many as fit, and at least one. */
  const takeGroup = () => {
    let [count, bytes] = [0, 0]
    for (const { entry } of waiting) {
      const more = options.bytesOf(entry)
      if (count > 0 && bytes + more > bytesMax) break
      count += 1
      bytes += more
    }
    return { group: waiting.splice(0, count), bytes }
  }
  const writeGroup = async (): Promise<void> => {
    const { group, bytes } = takeGroup()
    if (waiting.length > 0) void inTurn(writeGroup)
    try {
      const entries = group.map(({ entry }) => entry)
      const results = await options.write(entries, bytes)
      for (const [at, { resolve }] of group.entries()) resolve(results[at]!)
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }

  return {
    /** Resolves when the group of the entry is durable; rejects when that group could not be written. */
    add: (entry: Entry): Promise<Result> =>
      new Promise<Result>((resolve, reject) => {
        waiting.push({ entry, resolve, reject })
        if (waiting.length === 1) void inTurn(writeGroup)
      }),
    inTurn,
  }
}

/** How long a hanging disk may delay the end of an answer. */
const KEEP_WAIT_MS = 10_000

export async function inTime<Kept>(kept: Promise<Kept>, what: string): Promise<Kept> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} was not kept within ${KEEP_WAIT_MS} ms`)), KEEP_WAIT_MS)
  })
  try {
    return await Promise.race([kept, late])
  } finally {
    clearTimeout(timer)
    // A failure after the timeout has no listener.
    kept.catch(() => {})
  }
}
