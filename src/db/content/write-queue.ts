/** Written in one commit; more is the next one's. */
const WRITTEN_BYTES_MAX = 8 * 1024 * 1024

/**
 * One change of a file at a time, because two would make room by the same rows. What comes while one is being written goes
 * together as the next one: a disk that is slow has fewer commits to do, not more to wait for.
 */
interface WriteQueue<Entry, Result> {
  /** Resolves when the group that it went with is durable; rejects when that group could not be written. */
  add(entry: Entry): Promise<Result>
  /** Between two groups. */
  inTurn<Done>(work: () => Promise<Done>): Promise<Done>
}

interface WriteQueueDeps<Entry, Result> {
  readonly bytesOf: (entry: Entry) => number
  readonly bytesMax?: number
  /** What came of each entry of the group. */
  readonly write: (group: readonly Entry[]) => Promise<readonly Result[]>
}

interface Waiting<Entry, Result> {
  readonly entry: Entry
  resolve(result: Result): void
  reject(error: unknown): void
}

export function createWriteQueue<Entry, Result>(deps: WriteQueueDeps<Entry, Result>): WriteQueue<Entry, Result> {
  const bytesMax = Math.min(deps.bytesMax ?? WRITTEN_BYTES_MAX, WRITTEN_BYTES_MAX)
  const waiting: Waiting<Entry, Result>[] = []
  let last: Promise<unknown> = Promise.resolve()

  const inTurn = <Done>(work: () => Promise<Done>): Promise<Done> => {
    const done = last.then(work)
    last = done.catch(() => {})
    return done
  }
  /** As many as fit, and one at least. */
  const countOfGroup = (): number => {
    let count = 0
    for (let bytes = 0; count < waiting.length; count++) {
      bytes += deps.bytesOf(waiting[count]!.entry)
      if (count > 0 && bytes > bytesMax) break
    }
    return count
  }
  const writeGroup = async (): Promise<void> => {
    const group = waiting.splice(0, countOfGroup())
    if (waiting.length > 0) void inTurn(writeGroup)
    try {
      const results = await deps.write(group.map(({ entry }) => entry))
      for (const [at, { resolve }] of group.entries()) resolve(results[at]!)
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }

  return {
    add: (entry) =>
      new Promise<Result>((resolve, reject) => {
        waiting.push({ entry, resolve, reject })
        if (waiting.length === 1) void inTurn(writeGroup)
      }),
    inTurn,
  }
}

/** A disk that hangs must not hold the end of an answer for longer. */
const KEEP_WAIT_MS = 10_000

/** What is being kept, or a rejection when that takes too long. */
export async function inTime<Kept>(kept: Promise<Kept>, what: string): Promise<Kept> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} was not kept within ${KEEP_WAIT_MS} ms`)), KEEP_WAIT_MS)
  })
  try {
    return await Promise.race([kept, late])
  } finally {
    clearTimeout(timer)
    // One that fails after its time has nobody left to tell.
    kept.catch(() => {})
  }
}
