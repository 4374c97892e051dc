import type { Problem } from '../model/problem.ts'

/**
 * Where an answer goes. `turn` decides what is said and when the end may be said; the sink only writes.
 *
 * quiet → head (status and headers have gone, perhaps keep-alives) → body (the first content has gone) → ended. The phase
 * is what may still be said; whether another lane may be tried, whoever carries the words knows.
 */
export type SinkPhase = 'quiet' | 'head' | 'body' | 'ended'

export interface Sink {
  readonly phase: SinkPhase
  /** The client's connection is closed; nothing written from now on arrives. */
  readonly disconnected: boolean
  /** Adds headers to the head, or takes back those that are undefined; without effect once it has gone. */
  announce(headers: Readonly<Record<string, string | undefined>>): void
  /** What is said when nothing has been said for a while; undefined: a comment will do. JSON answers have no silence. */
  onSilence(say: () => Buffer | undefined): void
  /** Content. Returns a promise while the client's socket is full: await it before reading more from the provider. */
  write(bytes: Buffer): Promise<void> | undefined
  /** The last bytes, or the whole JSON body, and the regular end. */
  end(bytes: Buffer): void
  /** An error as status and body. Only while `quiet`; afterwards a failure is said in the protocol's own words, by `end`. */
  refuse(problem: Problem): void
  /** Breaks the connection without an end, so that nobody takes what was sent for a whole answer. */
  cut(): void
  /** Calls back once when the client goes; returns how to stop listening. */
  onDisconnect(listener: () => void): () => void
}
