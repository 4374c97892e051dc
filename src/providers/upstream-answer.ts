import type { DeadlinePhase } from './deadlines.ts'

/** The outcome of a call. */
export type UpstreamOutcome = UpstreamAnswer | UpstreamFailed

/** No answer: why, and whether the provider may have begun to work on the request. */
export interface UpstreamFailed {
  readonly kind: 'failed'
  readonly reason: UpstreamFailure
  /** For the operator's log: without addresses and credentials. */
  readonly message: string
  /** Of a timeout: what was waited for. */
  readonly expired?: DeadlinePhase
  /** Of a cancelled call: nothing was sent. */
  readonly wasSent?: false
  /** The code of the underlying error: the network's, undici's, or ours. */
  readonly code?: string
}

/**
 * `not-sent`: nothing of the request was sent. `broken-off`: it was sent, and its outcome is unknown. `redirected`: the provider
 * answered with a redirect, which is not followed.
 */
export type UpstreamFailure = 'not-sent' | 'broken-off' | 'timeout' | 'cancelled' | 'redirected'

/** The provider certainly has not begun to work, so a retry costs nothing. */
export const isUntouched = ({ reason, expired, wasSent }: UpstreamFailed): boolean =>
  reason === 'not-sent' || reason === 'redirected' || expired === 'connect' || wasSent === false

export interface UpstreamAnswer {
  readonly kind: 'answer'
  readonly status: number
  /** The headers that we use, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: UpstreamBody
}

export interface UpstreamBody {
  /**
   * Everything that has arrived since the last call, or the next chunks; an empty list at the end. One read of the provider's
   * socket is one list, so that it becomes one write to the client's.
   */
  read(): Promise<readonly Buffer[]>
  /** Closes the connection, so that the provider stops working. */
  cancel(): void
  /** Waits briefly for the end, which must be near, so that the connection can be used again. */
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

/** Error bodies are short; of an HTML page the beginning is enough. */
const BYTES_MAX = 64 * 1024

/** The body of an error response, up to a bound. */
export async function readBeginning(body: UpstreamBody): Promise<Buffer> {
  const parts: Buffer[] = []
  let size = 0
  try {
    for (let chunks = await body.read(); chunks.length > 0 && size < BYTES_MAX; chunks = await body.read()) {
      for (const chunk of chunks) size += chunk.length
      parts.push(...chunks)
    }
  } catch {
    // An error response that breaks off is still an error.
  }
  body.cancel()
  return Buffer.concat(parts).subarray(0, BYTES_MAX)
}

/** Longer waits are lowered to this, because some providers send nonsense. */
export const WAIT_MAX_MS = 600_000

/** The provider's Retry-After: seconds, a date, or exact milliseconds. Undefined for anything that is not in the future. */
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
