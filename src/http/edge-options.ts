/** The bounds of the edge. What can be configured is said, with its default and the reason for it, in `app/config`. */
export interface EdgeOptions {
  readonly connectionsMax: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  readonly headerBytesMax: number
  readonly body: BodyBounds
  readonly linger: LingerBounds
  readonly stream: StreamTimes
  /** A client that takes nothing for so long, or up to twice as long, is treated as gone. */
  readonly stallMs: number
  /** Web origins, as browsers send them, that may call although they are not loopback. */
  readonly allowedOrigins: readonly string[]
  /** Addresses and networks of reverse proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[]
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
}

const KiB = 1024
const MiB = 1024 * KiB

/** Bounds that no configuration sets: nobody has a reason to want others. */
export const LINGER: LingerBounds = { timeMs: 2_000, bytesMax: 16 * MiB, discardBytesMax: 64 * KiB }
export const STALL_MS = 60_000
