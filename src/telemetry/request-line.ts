import { formatUsd } from '../model/money.ts'
import { inputTokensOf, type Usage } from '../model/price.ts'
import type { CompactedTokens } from '../model/turn.ts'
import { type DescribedError, describeError, scrub, scrubPath } from './scrub.ts'

/** What is known of a request at its end, by whoever learned it. Only what `requestLine` asks for gets into the log. */
export type RequestFacts = Readonly<Record<string, unknown>>

/** One request as the log tells it: ids, times, tokens, charge, outcome. Never contents, never a key. */
export type RequestLine = ReturnType<typeof requestLine>

const FOREIGN_LENGTH_MAX = 200

/** Written out as one literal: the list of what is allowed, and the one shape that is quick to serialize. */
export function requestLine(facts: RequestFacts) {
  const usage = usageOf(facts.usage)
  const compaction = compactionOf(facts.compaction)
  return {
    msg: 'request',
    request_id: own(facts.request_id),
    method: foreign(facts.method),
    path: typeof facts.path === 'string' ? scrubPath(facts.path).slice(0, FOREIGN_LENGTH_MAX) : undefined,
    status: count(facts.status),
    code: own(facts.code),
    outcome: own(facts.outcome),
    account_id: own(facts.account_id),
    key_id: own(facts.key_id),
    key_refusal: own(facts.key_refusal),
    kind: own(facts.kind),
    model: own(facts.model),
    lane: own(facts.lane),
    delivery: own(facts.delivery),
    input_tokens: usage && inputTokensOf(usage),
    cached_input_tokens: usage?.cachedInput,
    output_tokens: usage?.output,
    reasoning_tokens: usage?.reasoning,
    estimated: usage?.estimated,
    tokens_before: compaction?.tokensBefore,
    tokens_after: compaction?.tokensAfter,
    charge: money(facts.charge),
    shortfall: money(facts.shortfall),
    first_byte_ms: count(facts.first_byte_ms),
    total_ms: count(facts.total_ms),
    client_request_id: foreign(facts.client_request_id),
    retry_count: foreign(facts.retry_count),
    user_agent: foreign(facts.user_agent),
    err: errorOf(facts.error),
  }
}

/** Our own words and ids: taken as they are, because looking for secrets in them would cost more than all the rest. */
const own = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** Words that the client chose: it may have put its key there. */
const foreign = (value: unknown): string | undefined =>
  typeof value === 'string' ? scrub(value.slice(0, FOREIGN_LENGTH_MAX)) : undefined

const count = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)

const money = (value: unknown): string | undefined => (typeof value === 'bigint' ? formatUsd(value) : undefined)

const errorOf = (value: unknown): DescribedError | undefined => (value === undefined ? undefined : describeError(value))

type LoggedUsage = Usage & { readonly estimated?: boolean }

const usageOf = (value: unknown): LoggedUsage | undefined =>
  typeof value === 'object' && value !== null && 'uncachedInput' in value ? (value as LoggedUsage) : undefined

const compactionOf = (value: unknown): CompactedTokens | undefined =>
  typeof value === 'object' && value !== null && 'tokensBefore' in value ? (value as CompactedTokens) : undefined

/** `12:01:22  200 POST /v1/chat/completions  demo  wallet  stream  9+24 tok  0.000000  first 31 ms  total 412 ms  req_…` */
export function prettyRequest(time: string, line: RequestLine): string {
  const { status, method, path, code, err } = line
  const parts = [
    time,
    [status ?? '---', method, path].filter(isSaid).join(' '),
    line.model,
    line.kind,
    line.delivery,
    isSaid(line.input_tokens) ? `${line.input_tokens}+${line.output_tokens} tok` : undefined,
    line.charge === undefined ? undefined : sixPlaces(line.charge),
    isSaid(line.first_byte_ms) ? `first ${line.first_byte_ms} ms` : undefined,
    isSaid(line.total_ms) ? `total ${line.total_ms} ms` : undefined,
    code ?? (line.outcome === 'completed' ? undefined : line.outcome),
    line.request_id,
  ]
  const text = parts.filter(isSaid).map(String).map(printable).join('  ')
  return `${text}\n${err === undefined ? '' : errorLines(err)}`
}

export function prettyMessage(
  time: string,
  level: string,
  message: string,
  facts: Readonly<Record<string, unknown>>,
): string {
  const { err, ...others } = facts
  const said = Object.entries(others)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  const mark = level === 'info' ? [] : [level]
  const text = [time, ...mark, message, ...said].map(printable).join('  ')
  return `${text}\n${isError(err) ? errorLines(err) : ''}`
}

const isSaid = <Value>(value: Value | undefined): value is Value => value !== undefined

const isError = (value: unknown): value is DescribedError =>
  typeof value === 'object' && value !== null && 'message' in value

function errorLines(error: DescribedError, prefix = ''): string {
  const text = error.stack ?? `${error.name}: ${error.message}`
  const lines = text.split('\n').map((line, index) => `          ${index === 0 ? prefix : ''}${printable(line)}\n`)
  const inner = [...(error.cause ? [error.cause] : []), ...(error.errors ?? [])]
  return lines.join('') + inner.map((each) => errorLines(each, 'because of ')).join('')
}

/** Money on a terminal stands in columns: six places at least, more where they count. */
const sixPlaces = (amount: string): string => {
  const [whole, fraction = ''] = amount.split('.')
  return `${whole}.${fraction.padEnd(6, '0')}`
}

/** A client's text must not be able to move the cursor or colour the terminal of whoever reads the log. */
const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this removes
  text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '?')

const DEPTH_MAX = 4
const ENTRIES_MAX = 50

/** Facts beside a message, made fit for a log: strings scrubbed, errors described, money exact, depth and width bounded. */
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
