import { formatUsd, type NanoUsd } from '../model/money.ts'
import { inputTokensOf, type Usage } from '../model/price.ts'
import type { CompactedTokens } from '../model/turn.ts'
import { type DescribedError, describeError, scrub, scrubPath } from './scrub.ts'

/** What is known about a request at its end, filled in while it runs. */
export interface RequestFacts {
  request_id?: string
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
  return {
    msg: 'request',
    request_id: facts.request_id,
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
export function prettyRequest(time: string, line: RequestLine): string {
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

export function prettyMessage(
  time: string,
  level: string,
  message: string,
  facts: Readonly<Record<string, unknown>>,
): string {
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
export function scrubFacts(facts: object): Record<string, unknown> {
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
