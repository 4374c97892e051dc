import { write, writeSync } from 'node:fs'

/** A reader that has stalled: from here on lines are dropped, counted and reported; answers never wait for a log. */
const WAITING_BYTES_MAX = 8 * 1024 * 1024
/** What a pipe takes at once: whoever ends the process in the middle of a write tears one piece at most. */
const PIECE_BYTES = 64 * 1024
/** Until a full pipe or a full disk is tried again: soon, because a reader that reads has made room by then, then ever later. */
const RETRY_MS = { first: 1, last: 100 }
/** How long the end of the process waits for a reader that takes nothing. */
const END_WAIT_MS = 2_000

/**
 * A pipe blocks whoever writes into it until Node has made a stream of it. A write that waited there for a reader that has
 * stalled would keep its thread, and so the end of the process, for as long as that lasts. Asking for the stream makes it.
 */
const STREAMS: Readonly<Record<number, () => NodeJS.WriteStream>> = { 1: () => process.stdout, 2: () => process.stderr }

export interface LogDestination {
  write(line: string): void
  /** Hands on what has been gathered, without waiting for it to be written. */
  flush(): void
  /** Resolves when everything is written, or when the reader has gone or does not read any more. */
  close(): Promise<void>
}

export interface DestinationOptions {
  /** A file descriptor: 1 is stdout, 2 is stderr. It stays open. */
  readonly to: number
  /** Lines wait until about so many bytes have come together, but never longer than `flushEveryMs`; 0 writes at once. */
  readonly gatherBytes: number
  readonly flushEveryMs: number
  /** Told how many lines were lost, as soon as the reader takes lines again. */
  readonly onDropped: (lines: number) => void
}

/**
 * Writes behind the requests' backs: a line costs them a string in a buffer, not a system call. One write at a time, in order; a
 * full pipe or disk is tried again, because it may get room; a reader that has gone is gone for good. Neither costs an answer.
 */
export function openLogDestination(options: DestinationOptions): LogDestination {
  STREAMS[options.to]?.()
  let gathered = ''
  /** What is to be written next, of which a piece may be on its way. */
  let rest: Buffer = Buffer.alloc(0)
  let onItsWay = 0
  let timer: NodeJS.Timeout | undefined
  let dropped = 0
  let broken = false
  let retryMs = RETRY_MS.first
  let onTaken = () => {}
  let onWritten = () => {}

  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (broken) return onWritten()
    if (rest.length > 0) return
    if (gathered === '') return onWritten()
    rest = Buffer.from(gathered)
    gathered = ''
    writeOn()
  }
  const writeOn = () => {
    onItsWay = Math.min(rest.length, PIECE_BYTES)
    write(options.to, rest, 0, onItsWay, null, (error, written) => {
      onItsWay = 0
      if (error !== null) return tryAgain(error.code)
      rest = rest.subarray(written)
      retryMs = RETRY_MS.first
      onTaken()
      if (rest.length > 0) return writeOn()
      sayDropped()
      // While the timer runs, what has come meanwhile may wait for more.
      if (timer === undefined) flush()
    })
  }
  const tryAgain = (code: string | undefined) => {
    broken = code === 'EPIPE' || code === 'EBADF'
    if (broken) flush()
    else setTimeout(writeOn, retryMs).unref()
    retryMs = Math.min(2 * retryMs, RETRY_MS.last)
  }
  const sayDropped = () => {
    const lines = dropped
    dropped = 0
    if (lines > 0) options.onDropped(lines)
  }
  // Whoever ends the process without closing first loses nothing either, but for what nobody takes. A piece that is on its way
  // is its thread's, for which the process waits.
  const writeAtExit = () => {
    if (!broken) writeNow(options.to, Buffer.concat([rest.subarray(onItsWay), Buffer.from(gathered)]))
  }
  process.once('exit', writeAtExit)
  return {
    write: (line) => {
      if (broken) return
      if (gathered.length + rest.length + line.length > WAITING_BYTES_MAX) {
        dropped += 1
        return
      }
      gathered += line
      if (gathered.length >= options.gatherBytes) flush()
      else timer ??= setTimeout(flush, options.flushEveryMs).unref()
    },
    flush,
    close: () =>
      new Promise((resolve) => {
        process.off('exit', writeAtExit)
        onWritten = () => {
          clearTimeout(patience)
          onTaken = () => {}
          resolve()
        }
        const patience = setTimeout(onWritten, END_WAIT_MS)
        onTaken = () => patience.refresh()
        flush()
      }),
  }
}

/** The process is ending, so nothing else can happen meanwhile: waits for a full pipe within bounds, for nothing else. */
function writeNow(to: number, bytes: Buffer): void {
  let rest = bytes
  for (let tries = END_WAIT_MS / RETRY_MS.last; rest.length > 0 && tries > 0; ) {
    try {
      rest = rest.subarray(writeSync(to, rest))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
      tries -= 1
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS.last)
    }
  }
}
