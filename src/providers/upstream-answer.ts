import type { DeadlinePhase } from './deadlines.ts'

/** What came of asking a provider. The body is read by whoever asked; `cancel` ends the exchange at any moment. */
export type UpstreamOutcome = UpstreamAnswer | UpstreamFailed

/** No answer: why, and whether the provider may have begun to work on the request. */
export interface UpstreamFailed {
  readonly kind: 'failed'
  readonly reason: UpstreamFailure
  /** For the operator's log: it names the upstream by its id, and holds no address and no credential. */
  readonly message: string
  /** What was waited for when it took too long. */
  readonly expired?: DeadlinePhase
  /** Of a cancelled call: nothing of it had left. */
  readonly wasSent?: false
  /** Of the error beneath: the network's, the library's, or one of ours. */
  readonly code?: string
}

/**
 * `not-sent`: nothing of the request left. `broken-off`: it left, and what became of it is not known. `redirected`: the
 * provider points elsewhere, where nobody goes.
 */
export type UpstreamFailure = 'not-sent' | 'broken-off' | 'timeout' | 'cancelled' | 'redirected'

/** Certainly no work was begun, so that asking again can cost nobody anything. */
export const isUntouched = ({ reason, expired, wasSent }: UpstreamFailed): boolean =>
  reason === 'not-sent' || reason === 'redirected' || expired === 'connect' || wasSent === false

export interface UpstreamAnswer {
  readonly kind: 'answer'
  readonly status: number
  /** By lower-case name, as far as anybody needs them. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: UpstreamBody
}

export interface UpstreamBody {
  /**
   * Everything that has arrived since the last call, or the next that arrives; an empty list at the end. One read of the
   * provider's socket is one list, so that it becomes one write to the client's.
   */
  read(): Promise<readonly Buffer[]>
  /** Cuts the connection, so that the provider stops working. */
  cancel(): void
  /** Nothing more is wanted, and the end must be near: it is waited for briefly, so that the connection can serve again. */
  release(): void
}

/** The provider's connection ended before its answer did. */
export class UpstreamBrokenOff extends Error {
  override readonly name = 'UpstreamBrokenOff'
}

/** A time limit of the call was reached. */
export class UpstreamTimedOut extends Error {
  override readonly name = 'UpstreamTimedOut'
  readonly phase: DeadlinePhase

  constructor(phase: DeadlinePhase) {
    super(`The provider was too slow (${phase}).`)
    this.phase = phase
  }
}

/** We ended the call. */
export class UpstreamCancelled extends Error {
  override readonly name = 'UpstreamCancelled'
}

/** The provider pointed elsewhere. */
export class UpstreamRedirected extends Error {
  override readonly name = 'UpstreamRedirected'
}

/** Error bodies are short; what is longer is a page, and its beginning is enough. */
const BYTES_MAX = 64 * 1024

/** What a refusal says, read to its end or to its bound. */
export async function readBeginning(body: UpstreamBody): Promise<Buffer> {
  const parts: Buffer[] = []
  let size = 0
  try {
    for (let chunks = await body.read(); chunks.length > 0 && size < BYTES_MAX; chunks = await body.read()) {
      for (const chunk of chunks) size += chunk.length
      parts.push(...chunks)
    }
  } catch {
    // A refusal that breaks off is a refusal all the same.
  }
  body.cancel()
  return Buffer.concat(parts).subarray(0, BYTES_MAX)
}

/** A provider that asks for more than this is asked again sooner: its word is advice, and some send nonsense. */
export const WAIT_MAX_MS = 600_000

/**
 * How long a provider asks to be left alone. Seconds, with a fraction or not, or a date; milliseconds where it is more
 * exact. Undefined for anything that is not a time to come.
 */
export function readRetryAfter(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const waits = [
    millisecondsOf(headers['retry-after-ms'], 1),
    millisecondsOf(headers['retry-after'], 1000),
    untilDate(headers['retry-after'], now),
  ]
  const wait = waits.find((candidate) => candidate !== undefined && candidate > 0)
  return wait === undefined ? undefined : Math.min(wait, WAIT_MAX_MS)
}

const millisecondsOf = (text: string | undefined, unit: number): number | undefined =>
  text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Math.ceil(Number(text) * unit) : undefined

function untilDate(text: string | undefined, now: number): number | undefined {
  if (text === undefined || !/[a-z]{3}/i.test(text)) return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : at - now
}

/** Between what a provider pushes and what the turn pulls. Whoever pushes is told when to pause and when to go on. */
export interface ChunkQueue {
  readonly body: UpstreamBody
  push(chunk: Buffer): void
  end(): void
  fail(error: Error): void
}

/** Where the chunks come from. */
export interface ChunkSource {
  pause(): void
  resume(): void
  cancel(): void
  /** What still comes is dropped: the source may want to bound how long it goes on. */
  release?(): void
}

/**
 * How much may stand here. A reader that waits takes it in the same moment, so that its bound is the size of one read. What
 * comes while nobody waits stands behind a client that does not read, for as long as that lasts, and for each such client.
 */
interface QueueBounds {
  readonly awaitedMax: number
  readonly unawaitedMax: number
}

export function createChunkQueue(source: ChunkSource, bounds: QueueBounds): ChunkQueue {
  let chunks: Buffer[] = []
  let bytes = 0
  let paused = false
  let released = false
  let settling = false
  let state: 'open' | 'ended' | Error = 'open'
  let waiting: { resolve(chunks: readonly Buffer[]): void; reject(error: Error): void } | undefined

  const take = (): readonly Buffer[] => {
    const taken = chunks
    chunks = []
    bytes = 0
    if (paused) {
      paused = false
      source.resume()
    }
    return taken
  }
  const settleWaiting = () => {
    settling = false
    if (!waiting || (state === 'open' && chunks.length === 0)) return
    const { resolve, reject } = waiting
    waiting = undefined
    if (state instanceof Error && chunks.length === 0) reject(state)
    else resolve(take())
  }

  return {
    body: {
      read() {
        if (chunks.length > 0 || state === 'ended') return Promise.resolve(take())
        if (state instanceof Error) return Promise.reject(state)
        return new Promise((resolve, reject) => {
          waiting = { resolve, reject }
        })
      },
      cancel: () => source.cancel(),
      release() {
        released = true
        source.release?.()
        take()
      },
    },
    push(chunk) {
      if (state !== 'open' || released) return
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > (waiting ? bounds.awaitedMax : bounds.unawaitedMax) && !paused) {
        paused = true
        source.pause()
      }
      // After this turn of the parser: what else the same read of the socket holds is gathered first.
      if (waiting && !settling) {
        settling = true
        queueMicrotask(settleWaiting)
      }
    },
    end() {
      if (state !== 'open') return
      state = 'ended'
      settleWaiting()
    },
    fail(error) {
      if (state !== 'open') return
      state = error
      settleWaiting()
    },
  }
}
