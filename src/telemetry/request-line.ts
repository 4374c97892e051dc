import { formatUsd } from '../model/money.ts'
import type { Usage } from '../model/usage.ts'
import { inputTokensOf } from '../model/usage.ts'
import { type DescribedError, describeError } from './describe-error.ts'
import { scrub } from './scrub.ts'

/** What is known of a request at its end, by whoever learned it. Only the names in this file get into the log. */
export type RequestFacts = Readonly<Record<string, unknown>>

/** One request as the log tells it: ids, times, tokens, charge, outcome. Never contents, never a key. */
export type RequestLine = Readonly<Record<string, string | number | boolean | DescribedError>>

const TEXT_LENGTH_MAX = 200

const TEXTS = [
  'request_id',
  'method',
  'path',
  'account_id',
  'key_id',
  'kind',
  'model',
  'lane',
  'delivery',
  'outcome',
  'code',
  'key_refusal',
] as const
/** Words that the client chose: it may have put its key there. */
const FOREIGN_TEXTS = ['client_request_id', 'retry_count', 'user_agent'] as const

export function requestLine(facts: RequestFacts): RequestLine {
  const line: Record<string, string | number | boolean | DescribedError> = {}
  for (const name of TEXTS) addText(line, name, facts[name])
  addText(line, 'code', facts.code ?? facts.problem)
  addNumber(line, 'status', facts.status)
  addNumber(line, 'first_byte_ms', facts.first_byte_ms ?? facts.firstByteMs)
  addNumber(line, 'total_ms', facts.total_ms ?? facts.totalMs)
  if (isUsage(facts.usage)) addUsage(line, facts.usage)
  for (const name of ['charge', 'shortfall'] as const) {
    const amount = facts[name]
    if (typeof amount === 'bigint') line[name] = formatUsd(amount)
  }
  for (const name of FOREIGN_TEXTS) addText(line, name, facts[name])
  const error = facts.error ?? facts.err
  if (error !== undefined) line.err = describeError(error)
  return line
}

function addText(line: Record<string, unknown>, name: string, value: unknown): void {
  if (typeof value === 'string') line[name] = scrub(value.slice(0, TEXT_LENGTH_MAX))
}

function addNumber(line: Record<string, unknown>, name: string, value: unknown): void {
  if (typeof value === 'number') line[name] = value
}

const isUsage = (value: unknown): value is Usage & { readonly estimated?: boolean } =>
  typeof value === 'object' && value !== null && 'uncachedInput' in value && 'output' in value

function addUsage(line: Record<string, unknown>, usage: Usage & { readonly estimated?: boolean }): void {
  line.input_tokens = inputTokensOf(usage)
  line.cached_input_tokens = usage.cachedInput
  line.output_tokens = usage.output
  line.reasoning_tokens = usage.reasoning
  if (usage.estimated) line.estimated = true
}
