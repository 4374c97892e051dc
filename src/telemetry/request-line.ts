import type { CompactedTokens } from '../model/compaction.ts'
import { formatUsd } from '../model/money.ts'
import { inputTokensOf, type Usage } from '../model/usage.ts'
import { type DescribedError, describeError } from './describe-error.ts'
import { scrub, scrubPath } from './scrub.ts'

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
