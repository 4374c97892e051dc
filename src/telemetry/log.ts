import { write, writeSync } from 'node:fs'
import type { Clock } from '../lib/clock.ts'
import {
  prettyMessage,
  prettyRequest,
  type RequestFacts,
  type RequestLine,
  requestLine,
  scrubFacts,
} from './request-line.ts'
import { scrub } from './scrub.ts'

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'
type SpokenLevel = 'info' | 'warn' | 'error'

export interface Log {
  /** The one line of a request. Facts that the line does not know are left out, whatever they are. */
  request(facts: RequestFacts): void
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
  /** Everything said so far is written when this resolves. */
  close(): Promise<void>
}

export interface LogOptions {
  readonly level: LogLevel
  /** One JSON object a line, or one line for a person at a terminal. */
  readonly format: 'json' | 'pretty'
  /** A file descriptor: 1 is stdout, 2 is stderr. */
  readonly destination: number
}

/** Under load a system call for some hundred lines; a reader of the log is behind by this time at most. */
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

/** How lines are spelled; which ones are written is decided before. */
interface Writer {
  request(level: SpokenLevel, line: RequestLine): void
  message(level: SpokenLevel, facts: Readonly<Record<string, unknown>>, message: string): void
}

export function createLog(deps: { readonly clock: Clock }, options: LogOptions): Log {
  if (options.level === 'silent') return silentLog
  const pretty = options.format === 'pretty'
  const destination = openLogDestination({
    to: options.destination,
    gatherBytes: pretty ? 0 : GATHER_BYTES,
    flushEveryMs: FLUSH_EVERY_MS,
    onDropped: (lines) => say('warn', { lines }, 'log lines were lost because nobody took them'),
  })
  const writer = pretty ? prettyWriter(deps.clock, destination) : jsonWriter(deps.clock, destination)
  const isSpoken = (level: SpokenLevel) => RANKS[level] >= RANKS[options.level]
  const say = (level: SpokenLevel, facts: object, message: string) => {
    if (!isSpoken(level)) return
    writer.message(level, scrubFacts(facts), scrub(message))
    // Whoever looks for the reason of a crash shall find it.
    if (level === 'error') destination.flush()
  }
  return {
    request(facts) {
      const level = levelOf(facts)
      if (!isSpoken(level)) return
      writer.request(level, requestLine(facts))
      if (level === 'error') destination.flush()
    },
    info: (facts, message) => say('info', facts, message),
    warn: (facts, message) => say('warn', facts, message),
    error: (facts, message) => say('error', facts, message),
    close: () => destination.close(),
  }
}

/** A shortfall is money that the operator owes a provider and nobody paid. */
function levelOf({ error, shortfall }: RequestFacts): SpokenLevel {
  if (error !== undefined) return 'error'
  return typeof shortfall === 'bigint' && shortfall > 0n ? 'warn' : 'info'
}

const silentLog: Log = {
  request: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  close: () => Promise.resolve(),
}

/** Level, time and message first, as readers of such logs are used to. */
function jsonWriter(clock: Clock, destination: LogDestination): Writer {
  const write = (level: SpokenLevel, said: { readonly msg: string }) => {
    const head = `{"level":"${level}","time":"${new Date(clock.now()).toISOString()}",`
    destination.write(`${head}${JSON.stringify(said).slice(1)}\n`)
  }
  return {
    request: write,
    message: (level, facts, msg) => write(level, { msg, ...facts }),
  }
}

function prettyWriter(clock: Clock, destination: LogDestination): Writer {
  const time = () => new Date(clock.now()).toTimeString().slice(0, 8)
  return {
    request: (_level, line) => destination.write(prettyRequest(time(), line)),
    message: (level, facts, message) => destination.write(prettyMessage(time(), level, message, facts)),
  }
}

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

interface LogDestination {
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
  return new Destination(options)
}

class Destination implements LogDestination {
  readonly #options: DestinationOptions
  #gathered = ''
  /** What is to be written next, of which a piece may be on its way. */
  #rest: Buffer = Buffer.alloc(0)
  #onItsWay = 0
  #timer: NodeJS.Timeout | undefined
  #dropped = 0
  #broken = false
  #retryMs = RETRY_MS.first
  #onTaken = () => {}
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
    this.#writeOn()
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      process.off('exit', this.#writeAtExit)
      const done = () => {
        clearTimeout(patience)
        this.#onTaken = () => {}
        resolve()
      }
      const patience = setTimeout(done, END_WAIT_MS)
      this.#onWritten = done
      this.#onTaken = () => patience.refresh()
      this.flush()
    })
  }

  #writeOn(): void {
    this.#onItsWay = Math.min(this.#rest.length, PIECE_BYTES)
    write(this.#options.to, this.#rest, 0, this.#onItsWay, null, (error, written) => {
      this.#onItsWay = 0
      if (error === null) this.#wasTaken(written)
      else this.#tryAgain(error.code)
    })
  }

  #wasTaken(bytes: number): void {
    this.#rest = this.#rest.subarray(bytes)
    this.#retryMs = RETRY_MS.first
    this.#onTaken()
    if (this.#rest.length > 0) {
      this.#writeOn()
      return
    }
    this.#sayDropped()
    // While the timer runs, what has come meanwhile may wait for more.
    if (this.#timer === undefined) this.flush()
  }

  #tryAgain(code: string | undefined): void {
    this.#broken = code === 'EPIPE' || code === 'EBADF'
    if (this.#broken) this.flush()
    else setTimeout(() => this.#writeOn(), this.#retryMs).unref()
    this.#retryMs = Math.min(2 * this.#retryMs, RETRY_MS.last)
  }

  #sayDropped(): void {
    const lines = this.#dropped
    this.#dropped = 0
    if (lines > 0) this.#options.onDropped(lines)
  }

  /**
   * Whoever ends the process without closing first loses nothing either, but for what nobody takes. A piece that is on its way
   * is its thread's, for which the process waits.
   */
  readonly #writeAtExit = (): void => {
    if (this.#broken) return
    writeNow(this.#options.to, Buffer.concat([this.#rest.subarray(this.#onItsWay), Buffer.from(this.#gathered)]))
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
