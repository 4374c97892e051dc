/** The bounds of the edge. `app/config` fills them in; the defaults say why they are what they are. */
export interface EdgeOptions {
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  readonly headerBytesMax: number
  readonly body: BodyBounds
  readonly linger: LingerBounds
  readonly stream: StreamTimes
  /** Web origins, as browsers send them, that may call although they are not loopback. */
  readonly allowedOrigins: readonly string[]
}

export interface BodyBounds {
  /** Before and after decompression. */
  readonly bytesMax: number
  /** Decompressed bytes per compressed byte. */
  readonly expansionRatioMax: number
  readonly depthMax: number
  readonly valuesMax: number
}

/** How long a refused client may go on sending before the connection is closed on it. */
export interface LingerBounds {
  readonly timeMs: number
  readonly bytesMax: number
  /** A rest of the body this small is read and dropped, and the connection stays usable. */
  readonly discardBytesMax: number
}

export interface StreamTimes {
  /** Without a first event for so long, the head goes out anyway. */
  readonly headDelayMs: number
  readonly keepAliveMs: number
  /** A client that takes nothing for so long is treated as gone. */
  readonly stallMs: number
}

const KiB = 1024
const MiB = 1024 * KiB

export const DEFAULT_EDGE_OPTIONS: EdgeOptions = {
  headersTimeoutMs: 10_000,
  // A coding agent sends megabytes over thin lines; the time of the answer is not part of it.
  requestTimeoutMs: 60_000,
  // Longer than the idle time of common load balancers, so that they and not we close first.
  keepAliveTimeoutMs: 75_000,
  headerBytesMax: 16 * KiB,
  body: { bytesMax: 32 * MiB, expansionRatioMax: 100, depthMax: 64, valuesMax: 1_000_000 },
  linger: { timeMs: 2_000, bytesMax: 16 * MiB, discardBytesMax: 64 * KiB },
  stream: { headDelayMs: 10_000, keepAliveMs: 15_000, stallMs: 60_000 },
  allowedOrigins: [],
}
