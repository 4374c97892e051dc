import { write, writeSync } from 'node:fs'
import type { Clock } from '../lib/clock.ts'
import { prettyMessage, prettyRequest, type RequestFacts, requestLine, scrubFacts } from './request-line.ts'
import { scrub } from './scrub.ts'

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'
type WrittenLevel = 'info' | 'warn' | 'error'

export interface Log {
  /** The one line of a request. */
  request(facts: Readonly<RequestFacts>): void
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
  /** Resolves when all lines are written. */
  close(): Promise<void>
}

export interface LogOptions {
  readonly level: LogLevel
  /** One JSON object a line, or one line for a person at a terminal. */
  readonly format: 'json' | 'pretty'
  /** A file descriptor: 1 is stdout, 2 is stderr. */
  readonly destination: number
}

/** Under load one system call writes some hundred lines. A reader is behind by at most the flush interval. */
const GATHER_BYTES = 32 * 1024
const FLUSH_EVERY_MS = 100

const RANKS: Readonly<Record<LogLevel, number>> = {
  trace: 10,
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  fatal: 60,
  silent: Number.POSITIVE_INFINITY,
}

export function createLog({ clock }: { readonly clock: Clock }, options: LogOptions): Log {
  if (options.level === 'silent') return SILENT_LOG
  const isPretty = options.format === 'pretty'
  const destination = openLogDestination({
    to: options.destination,
    gatherBytes: isPretty ? 0 : GATHER_BYTES,
    flushEveryMs: FLUSH_EVERY_MS,
    onDropped: (lines) =>
      write('warn', { lines }, 'log lines were lost because the reader of the log did not read them'),
  })
  const lowest = RANKS[options.level]
  const localTime = () => new Date(clock.now()).toTimeString().slice(0, 8)
  /** Level, time and message first, as readers of such logs expect. */
  const jsonLine = (level: WrittenLevel, line: { readonly msg: string }) => {
    const head = `{"level":"${level}","time":"${new Date(clock.now()).toISOString()}",`
    return `${head}${JSON.stringify(line).slice(1)}\n`
  }
  const write = (level: WrittenLevel, facts: object, message: string) => {
    if (RANKS[level] < lowest) return
    const [fit, msg] = [scrubFacts(facts), scrub(message)]
    destination.write(isPretty ? prettyMessage(localTime(), level, msg, fit) : jsonLine(level, { msg, ...fit }))
    // The reason of a crash must be in the log.
    if (level === 'error') destination.flush()
  }
  return {
    request(facts) {
      // A shortfall is a cost of the operator that no account pays.
      const hasShortfall = (facts.turn?.shortfall ?? 0n) > 0n
      const level = facts.error !== undefined ? 'error' : hasShortfall ? 'warn' : 'info'
      if (RANKS[level] < lowest) return
      const line = requestLine(facts)
      destination.write(isPretty ? prettyRequest(localTime(), line) : jsonLine(level, line))
      if (level === 'error') destination.flush()
    },
    info: (facts, message) => write('info', facts, message),
    warn: (facts, message) => write('warn', facts, message),
    error: (facts, message) => write('error', facts, message),
    close: () => destination.close(),
  }
}

const SILENT_LOG: Log = {
  request: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  close: () => Promise.resolve(),
}

/** Beyond this, the reader has stalled: lines are dropped, counted and reported. Answers never wait for the log. */
const WAITING_BYTES_MAX = 8 * 1024 * 1024
/** What a pipe takes at once: a process that ends during a write tears at most one piece. */
const PIECE_BYTES = 64 * 1024
/** Pauses before a full pipe or disk is tried again: short first, because a reader makes room soon, then longer. */
const RETRY_MS = { first: 1, last: 100 }
/** How long the end of the process waits for a reader that takes nothing. */
const END_WAIT_MS = 2_000

/**
 * A pipe is blocking until Node makes a stream of it, which reading `process.stdout` does. A blocking write to a stalled reader
 * would hold its thread, and so the end of the process.
 */
const STREAMS: Readonly<Record<number, () => NodeJS.WriteStream>> = { 1: () => process.stdout, 2: () => process.stderr }

export interface DestinationOptions {
  /** A file descriptor: 1 is stdout, 2 is stderr. It stays open. */
  readonly to: number
  /** Lines are gathered up to about this many bytes, but not longer than `flushEveryMs`; 0 writes at once. */
  readonly gatherBytes: number
  readonly flushEveryMs: number
  /** Called with the number of lost lines when the reader reads again. */
  readonly onDropped: (lines: number) => void
}

export function openLogDestination(options: DestinationOptions): LogDestination {
  STREAMS[options.to]?.()
  return new LogDestination(options)
}

/**
 * Writes asynchronously: a line costs a request a string in a buffer, not a system call. One write at a time, in order. A full pipe
 * or disk is tried again; a closed reader is final.
 */
class LogDestination {
  readonly #options: DestinationOptions
  #gathered = ''
  /** To be written next. A piece of it may be in flight. */
  #rest: Buffer = Buffer.alloc(0)
  #inFlight = 0
  #timer: NodeJS.Timeout | undefined
  #dropped = 0
  #broken = false
  #pauseMs = RETRY_MS.first
  #onProgress = () => {}
  #onWritten = () => {}

  constructor(options: DestinationOptions) {
    this.#options = options
    process.once('exit', this.#writeAtExit)
  }

  write(line: string): void {
    if (this.#broken) return
    if (this.#gathered.length + this.#rest.length + line.length > WAITING_BYTES_MAX) {
      this.#dropped += 1
      return
    }
    this.#gathered += line
    if (this.#gathered.length >= this.#options.gatherBytes) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), this.#options.flushEveryMs).unref()
  }

  /** Starts writing what has been gathered. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (!this.#broken && this.#rest.length > 0) return
    if (this.#broken || this.#gathered === '') {
      this.#onWritten()
      return
    }
    this.#rest = Buffer.from(this.#gathered)
    this.#gathered = ''
    this.#writeNext()
  }

  /** Resolves when everything is written, or when the reader is closed or does not read. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      process.off('exit', this.#writeAtExit)
      const done = () => {
        clearTimeout(timer)
        this.#onProgress = () => {}
        resolve()
      }
      const timer = setTimeout(done, END_WAIT_MS)
      this.#onWritten = done
      this.#onProgress = () => timer.refresh()
      this.flush()
    })
  }

  #writeNext(): void {
    this.#inFlight = Math.min(this.#rest.length, PIECE_BYTES)
    write(this.#options.to, this.#rest, 0, this.#inFlight, null, (error, written) => {
      this.#inFlight = 0
      if (error === null) this.#onWrittenPiece(written)
      else this.#retry(error.code)
    })
  }

  #onWrittenPiece(bytes: number): void {
    this.#rest = this.#rest.subarray(bytes)
    this.#pauseMs = RETRY_MS.first
    this.#onProgress()
    if (this.#rest.length > 0) {
      this.#writeNext()
      return
    }
    this.#reportDropped()
    // While the timer runs, newer lines may wait for more.
    if (this.#timer === undefined) this.flush()
  }

  #retry(code: string | undefined): void {
    this.#broken = code === 'EPIPE' || code === 'EBADF'
    if (this.#broken) this.flush()
    else setTimeout(() => this.#writeNext(), this.#pauseMs).unref()
    this.#pauseMs = Math.min(2 * this.#pauseMs, RETRY_MS.last)
  }

  #reportDropped(): void {
    const lines = this.#dropped
    this.#dropped = 0
    if (lines > 0) this.#options.onDropped(lines)
  }

  /** A process that exits without closing loses no line that a reader takes. The process waits for the piece in flight. */
  readonly #writeAtExit = (): void => {
    if (this.#broken) return
    writeNow(this.#options.to, Buffer.concat([this.#rest.subarray(this.#inFlight), Buffer.from(this.#gathered)]))
  }
}

/** The process is ending, so this blocks: it waits for a full pipe within bounds. */
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
