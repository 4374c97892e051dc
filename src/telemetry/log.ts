import type { Clock } from '../lib/clock.ts'
import { type LogDestination, openLogDestination } from './log-destination.ts'
import { prettyMessage, prettyRequest } from './pretty-line.ts'
import { type RequestFacts, type RequestLine, requestLine } from './request-line.ts'
import { scrub } from './scrub.ts'
import { scrubFacts } from './scrub-facts.ts'

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
