import { write, writeSync } from 'node:fs'
import type { Clock } from '../lib/clock.ts'
import type { Attempt } from '../model/ending.ts'
import { formatUsd, type NanoUsd } from '../model/money.ts'
import { inputTokensOf, type Usage } from '../model/price.ts'
import type { CompactedTokens } from '../model/turn.ts'
import { type DescribedError, describeError, scrub, scrubPath } from './scrub.ts'

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'
type WrittenLevel = 'info' | 'warn' | 'error'

export interface Log {
  /** The one line of a request. */
  request(facts: Readonly<RequestFacts>): void
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
  /** Calls back with each line as JSON, of whatever level, until it is called with undefined. */
  watch(onLine: OnLine | undefined): void
  /** Resolves when all lines are written. */
  close(): Promise<void>
}

type OnLine = (line: { readonly text: string; readonly account: string | undefined; readonly failed: boolean }) => void

export interface LogOptions {
  readonly level: LogLevel
  /** One JSON object a line, or one line for a person at a terminal. */
  readonly format: 'json' | 'pretty'
  /** A file descriptor: 1 is stdout, 2 is stderr. */
  readonly destination: number
  /** Which worker of a server with several writes it. */
  readonly worker?: number | undefined
}

/** A server logs to stdout as configured; a command of the operator prints its data there, and logs its errors to stderr. */
export function logOptionsOf(
  { level, format }: { readonly level: LogLevel; readonly format: 'auto' | 'json' | 'pretty' },
  purpose: 'server' | 'command',
): LogOptions {
  const chosen = format === 'auto' ? (process.stdout.isTTY ? 'pretty' : 'json') : format
  return purpose === 'server'
    ? { level, format: chosen, destination: 1 }
    : { level: 'error', format: chosen, destination: 2 }
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
  const isPretty = options.format === 'pretty'
  const destination =
    options.level === 'silent'
      ? NO_DESTINATION
      : openLogDestination({
          to: options.destination,
          gatherBytes: isPretty ? 0 : GATHER_BYTES,
          flushEveryMs: FLUSH_EVERY_MS,
          onDropped: (lines) =>
            write('warn', { lines }, 'log lines were lost because the reader of the log did not read them'),
        })
  let watcher: OnLine | undefined
  const lowest = RANKS[options.level]
  const { worker } = options
  const [jsonWorker, prettyWorker] = worker === undefined ? ['', ''] : [`"worker":${worker},`, `  worker ${worker}`]
  const localTime = () => `${new Date(clock.now()).toTimeString().slice(0, 8)}${prettyWorker}`
  /** Level, time and message first, as readers of such logs expect. */
  const jsonLine = (level: WrittenLevel, line: { readonly msg: string }) => {
    const head = `{"level":"${level}","time":"${new Date(clock.now()).toISOString()}",${jsonWorker}`
    return `${head}${JSON.stringify(line).slice(1)}\n`
  }
  const write = (level: WrittenLevel, facts: object, message: string) => {
    if (RANKS[level] < lowest && watcher === undefined) return
    const [fit, msg] = [scrubFacts(facts), scrub(message)]
    watcher?.({ text: jsonLine(level, { msg, ...fit }), account: undefined, failed: level !== 'info' })
    if (RANKS[level] < lowest) return
    destination.write(isPretty ? prettyMessage(localTime(), level, msg, fit) : jsonLine(level, { msg, ...fit }))
    // The reason of a crash must be in the log.
    if (level === 'error') destination.flush()
  }
  return {
    request(facts) {
      // A shortfall is a cost of the operator that no account pays.
      const hasShortfall = (facts.turn?.shortfall ?? 0n) > 0n
      const level = facts.error !== undefined ? 'error' : hasShortfall ? 'warn' : 'info'
      if (RANKS[level] < lowest && watcher === undefined) return
      const line = requestLine(facts)
      watcher?.({ text: jsonLine(level, line), account: line.account_id, failed: hasFailed(level, line) })
      if (RANKS[level] < lowest) return
      destination.write(isPretty ? prettyRequest(localTime(), line) : jsonLine(level, line))
      if (level === 'error') destination.flush()
    },
    info: (facts, message) => write('info', facts, message),
    warn: (facts, message) => write('warn', facts, message),
    error: (facts, message) => write('error', facts, message),
    watch: (onLine) => {
      watcher = onLine
    },
    close: () => destination.close(),
  }
}

const NO_DESTINATION = { write: () => {}, flush: () => {}, close: () => Promise.resolve() }

/** Refused, failed inside its stream, or worth a warning. */
const hasFailed = (level: WrittenLevel, { status, code }: RequestLine): boolean =>
  level !== 'info' || code !== undefined || status === undefined || status >= 400

/** What is known about a request at its end, filled in while it runs. */
export interface RequestFacts {
  request_id?: string
  trace_id?: string | undefined
  method?: string | undefined
  path?: string
  status?: number | undefined
  code?: string
  outcome?: string
  account_id?: string
  key_id?: string
  key_refusal?: string
  /** The route as the table of routes writes it: a label of the metrics. */
  endpoint?: string
  kind?: string
  delivery?: string
  turn?: LoggedTurn
  total_ms?: number
  // Text of the client.
  client_request_id?: string | string[] | undefined
  retry_count?: string | string[] | undefined
  user_agent?: string | undefined
  error?: unknown
}

/** What a turn reports about itself. */
interface LoggedTurn {
  readonly model: string | undefined
  readonly outcome: string
  readonly problem?: string | undefined
  readonly lane?: string | undefined
  readonly attempts?: readonly Attempt[] | undefined
  readonly usage?: (Usage & { readonly estimated?: boolean }) | undefined
  readonly compaction?: CompactedTokens | undefined
  readonly charge?: NanoUsd | undefined
  readonly shortfall?: NanoUsd | undefined
  readonly firstByteMs?: number | undefined
}

/** One request in the log: ids, times, tokens, charge, outcome. Never contents, never a key. */
type RequestLine = ReturnType<typeof requestLine>

const FOREIGN_LENGTH_MAX = 200

/**
 * One literal: the list of allowed fields, and a shape that is quick to serialize. Our own words and ids are not scrubbed, because
 * scrubbing costs more than the rest of the line.
 */
export function requestLine(facts: Readonly<RequestFacts>) {
  const { turn, path, error } = facts
  const { usage, compaction, charge, shortfall } = turn ?? {}
  const broken = turn?.attempts?.at(-1)?.prefix
  return {
    msg: 'request',
    request_id: facts.request_id,
    trace_id: facts.trace_id,
    method: facts.method,
    path: path === undefined || path === facts.endpoint ? path : scrubPath(path).slice(0, FOREIGN_LENGTH_MAX),
    status: facts.status,
    code: turn?.problem ?? facts.code,
    outcome: turn?.outcome ?? facts.outcome,
    account_id: facts.account_id,
    key_id: facts.key_id,
    key_refusal: facts.key_refusal,
    kind: facts.kind,
    model: turn?.model,
    lane: turn?.lane,
    delivery: facts.delivery,
    input_tokens: usage && inputTokensOf(usage),
    cached_input_tokens: usage?.cachedInput,
    output_tokens: usage?.output,
    reasoning_tokens: usage?.reasoning,
    estimated: usage?.estimated,
    tokens_before: compaction?.tokensBefore,
    tokens_after: compaction?.tokensAfter,
    prefix_broken_at: broken?.at,
    prefix_broken_by: broken?.by,
    charge: charge === undefined ? undefined : formatUsd(charge),
    shortfall: shortfall === undefined ? undefined : formatUsd(shortfall),
    first_byte_ms: turn?.firstByteMs,
    total_ms: facts.total_ms,
    client_request_id: foreign(facts.client_request_id),
    retry_count: foreign(facts.retry_count),
    user_agent: foreign(facts.user_agent),
    err: error === undefined ? undefined : describeError(error),
  }
}

/** Text of the client, which may contain its key. */
const foreign = (value: string | string[] | undefined): string | undefined =>
  typeof value === 'string' ? scrub(value.slice(0, FOREIGN_LENGTH_MAX)) : undefined

/** `12:01:22  200 POST /v1/chat/completions  demo  wallet  stream  9+24 tok  0.000000  first 31 ms  total 412 ms  req_…` */
function prettyRequest(time: string, line: RequestLine): string {
  const { status, method, path, code, err } = line
  const parts = [
    time,
    [status ?? '---', method, path].filter(isKnown).join(' '),
    line.model,
    line.kind,
    line.delivery,
    isKnown(line.input_tokens) ? `${line.input_tokens}+${line.output_tokens} tok` : undefined,
    line.charge === undefined ? undefined : sixPlaces(line.charge),
    isKnown(line.first_byte_ms) ? `first ${line.first_byte_ms} ms` : undefined,
    isKnown(line.total_ms) ? `total ${line.total_ms} ms` : undefined,
    code ?? (line.outcome === 'completed' ? undefined : line.outcome),
    line.request_id,
  ]
  const text = parts.filter(isKnown).map(String).map(printable).join('  ')
  return `${text}\n${err === undefined ? '' : errorLines(err)}`
}

function prettyMessage(time: string, level: string, message: string, facts: Readonly<Record<string, unknown>>): string {
  const { err, ...others } = facts
  const known = Object.entries(others)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  const mark = level === 'info' ? [] : [level]
  const text = [time, ...mark, message, ...known].map(printable).join('  ')
  return `${text}\n${isError(err) ? errorLines(err) : ''}`
}

const isKnown = <Value>(value: Value | undefined): value is Value => value !== undefined

const isError = (value: unknown): value is DescribedError =>
  typeof value === 'object' && value !== null && 'message' in value

function errorLines(error: DescribedError, prefix = ''): string {
  const text = error.stack ?? `${error.name}: ${error.message}`
  const lines = text.split('\n').map((line, index) => `          ${index === 0 ? prefix : ''}${printable(line)}\n`)
  const inner = [...(error.cause ? [error.cause] : []), ...(error.errors ?? [])]
  return lines.join('') + inner.map((each) => errorLines(each, 'because of ')).join('')
}

/** A line of JSON as a person reads it, in local time. */
export function prettyLine(text: string): string {
  const { level, time, worker, msg, ...facts } = JSON.parse(text)
  const local = `${new Date(time).toTimeString().slice(0, 8)}${worker === undefined ? '' : `  worker ${worker}`}`
  return msg === 'request' ? prettyRequest(local, facts) : prettyMessage(local, level, msg, facts)
}

/** At least six decimal places, so that amounts on a terminal align. */
const sixPlaces = (amount: string): string => {
  const [whole, fraction = ''] = amount.split('.')
  return `${whole}.${fraction.padEnd(6, '0')}`
}

/** Text of a client must not move the cursor or change the colours of the terminal. */
const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this removes
  text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '?')

const DEPTH_MAX = 4
const ENTRIES_MAX = 50

/** Prepares facts for a log: strings scrubbed, errors described, money exact, depth and width bounded. */
function scrubFacts(facts: object): Record<string, unknown> {
  const fit: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(facts)) fit[name === 'error' ? 'err' : name] = fitValue(value, 0)
  return fit
}

function fitValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return scrub(value)
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Error) return describeError(value)
  if (value instanceof Date) return String(value.toJSON())
  if (typeof value !== 'object' || value === null) return typeof value === 'function' ? undefined : value
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`
  if (depth >= DEPTH_MAX) return '…'
  if (Array.isArray(value)) return value.slice(0, ENTRIES_MAX).map((each) => fitValue(each, depth + 1))
  const entries = Object.entries(value).slice(0, ENTRIES_MAX)
  return Object.fromEntries(entries.map(([name, each]) => [name, fitValue(each, depth + 1)]))
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
