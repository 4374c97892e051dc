import type { Fields } from '../../lib/types.ts'
import type { SettledCharge } from '../../model/ending.ts'
import { formatUsd } from '../../model/money.ts'
import { type InputUsage, PRICED_VALUE, type PricedValues, type Usage } from '../../model/price.ts'
import type { UpstreamError } from '../refusals/provider-error.ts'

/** What is known so far of a stream that a lane sends. */
export interface StreamState {
  /** The last usage that was reported. */
  usage: Usage | undefined
  /** It counts the whole answer. A usage that is reported before the answer ends is a lower bound. */
  usageIsFinal: boolean
  /** `outputBytes` when the usage was reported. */
  countedBytes: number
  /** Input counts that were reported before the output: all the counts of an answer that breaks off. */
  inputCounted: InputUsage | undefined
  /** Bytes of text, reasoning and tool arguments that were produced: the base of an estimate where usage is absent. */
  outputBytes: number
  /** Frames with content: many servers send one for each token. */
  contentFrames: number
  /** Tool calls that have begun. */
  calls: number
  /** Of those, the call that stands for a structured answer, which the client gets as text. */
  answerCalls: number
  /** How many of those bytes are held back here. */
  heldBytes: number
  /** There was a finish reason; the usage may still come. */
  finished: boolean
  /** The finish reason in the provider's words. */
  finishReason: string | undefined
  /** There was the end mark of the stream. */
  done: boolean
  /** The lane's own error inside the stream. */
  error: UpstreamError | undefined
  /** Why the answer is invalid and has failed; undefined while it is valid. */
  invalid: string | undefined
  /** What the provider says it has served of what changes the price: see `PRICED_FIELDS`. */
  serviceTier: unknown
  speed: unknown
  inferenceGeo: unknown
}

export const newStreamState = (): StreamState => ({
  usage: undefined,
  usageIsFinal: false,
  countedBytes: 0,
  inputCounted: undefined,
  outputBytes: 0,
  contentFrames: 0,
  calls: 0,
  answerCalls: 0,
  heldBytes: 0,
  finished: false,
  finishReason: undefined,
  done: false,
  error: undefined,
  invalid: undefined,
  serviceTier: undefined,
  speed: undefined,
  inferenceGeo: undefined,
})

/** Field by field: a generic copy takes as long as parsing a small frame. */
export function copyState(from: StreamState, to: StreamState): void {
  to.usage = from.usage
  to.usageIsFinal = from.usageIsFinal
  to.countedBytes = from.countedBytes
  to.inputCounted = from.inputCounted
  to.outputBytes = from.outputBytes
  to.contentFrames = from.contentFrames
  to.calls = from.calls
  to.heldBytes = from.heldBytes
  to.finished = from.finished
  to.finishReason = from.finishReason
  to.done = from.done
  to.error = from.error
  to.invalid = from.invalid
  to.serviceTier = from.serviceTier
  to.speed = from.speed
  to.inferenceGeo = from.inferenceGeo
}

/**
 * Records the usage that a frame has reported, after the rest of the frame was read. It is final when it came with the finish
 * or behind it, and when no more output came between it and the finish.
 */
export function recordUsage(state: StreamState, usage: Usage | undefined): void {
  const isNew = usage !== undefined && usage !== state.usage
  if (isNew) {
    state.usage = usage
    state.countedBytes = state.outputBytes
  }
  if (!state.finished || state.usageIsFinal || state.usage === undefined) return
  state.usageIsFinal = isNew || (state.usage.output > 0 && state.countedBytes === state.outputBytes)
}

/** What a provider says it has served: read only where some value has a price. */
export function servedValues(
  { serviceTier, speed, inferenceGeo }: Pick<StreamState, 'serviceTier' | 'speed' | 'inferenceGeo'>,
  tierInHead: string | undefined,
): PricedValues {
  const told = { service_tier: serviceTier ?? tierInHead, speed, inference_geo: inferenceGeo }
  const written = Object.entries(told).map(([field, value]) => [
    field,
    typeof value === 'string' && value.toLowerCase(),
  ])
  return Object.fromEntries(written.filter(([, value]) => typeof value === 'string' && PRICED_VALUE.test(value)))
}

/** The charge of a turn beside the usage, in both client protocols: exact, as a decimal string. */
export const encodeCharge = ({ usage, charge, tier, price, values }: SettledCharge): Fields => ({
  charge: formatUsd(charge),
  currency: 'USD',
  tier,
  price_version: price.version,
  ...(values === undefined ? {} : { multiplied_by: values }),
  ...(usage.estimated ? { estimated: true } : {}),
})

/** Tokens as providers report them: the input includes what was cached, the output includes the reasoning. */
interface ReportedCounts {
  readonly input: number
  readonly cached: number
  readonly cacheWrite: number
  readonly output: number
  readonly reasoning: number
  readonly doubtful?: boolean
}

/** The same in classes that do not overlap, even where a provider's counts are inconsistent. */
export function usageOfCounts({ input, cached, cacheWrite, output, reasoning, doubtful }: ReportedCounts): Usage {
  const cachedInput = Math.min(cached, input)
  const written = Math.min(cacheWrite, input - cachedInput)
  const usage = {
    cachedInput,
    cacheWrite: written,
    uncachedInput: input - cachedInput - written,
    output,
    reasoning: Math.min(reasoning, output),
  }
  return doubtful ? { ...usage, doubtful: true } : usage
}

/** For one class of one answer: no model reads or writes a thousandth of it. Larger counts are lowered to it, so that sums stay exact. */
const TOKENS_MAX = 1_000_000_000

/** A count of tokens; undefined for anything else. Zero is a number, and is believed. */
export const countOf = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 && Number.isFinite(value) ? Math.min(Math.ceil(value), TOKENS_MAX) : undefined

/** What a server may count beside the prompt or the completion, where others count it inside. */
export type CountedBeside = 'reasoning' | 'cached'

/**
 * Counts that sum up to the provider's own total. Providers agree on what a total is, because they bill by it, and not on
 * what a completion is: a larger total shows what was left out of the classes. Reasoning beside the completion explains it, or
 * cached input and cache writes beside the prompt. A rest that none of them explains is not charged, and makes the counts
 * doubtful. A total that is smaller than its parts is a mistake, and the classes are believed. `beside` is what the server is
 * known to count beside them, for usages whose total does not show it.
 */
export function agreeWithTotal(
  counts: ReportedCounts,
  { total, beside }: { readonly total: number | undefined; readonly beside: readonly CountedBeside[] },
): ReportedCounts {
  const { input, output, reasoning } = counts
  const rest = total === undefined ? undefined : total - input - output
  // More than the whole cannot be inside of it.
  const mayBeInside = !beside.includes('reasoning') || reasoning <= output
  if (rest === undefined || rest < 0 || (rest === 0 && !mayBeInside)) return withCountsBeside(counts, beside)
  if (rest === 0) return counts
  // The whole output was reasoning, and the completion counts one token less of it.
  if (rest === reasoning - output) return { ...counts, output: reasoning }
  for (const [moreInput, moreOutput] of explanationsOf(counts)) {
    if (rest === moreInput + moreOutput) return { ...counts, input: input + moreInput, output: output + moreOutput }
  }
  return { ...counts, doubtful: true }
}

/** What may stand beside the prompt and beside the completion. Of two that fit, the first is likelier. */
const explanationsOf = ({ cached, cacheWrite, reasoning }: ReportedCounts): (readonly [number, number])[] => [
  [0, reasoning],
  ...[cached, cacheWrite, cached + cacheWrite].map((input) => [input, 0] as const),
  ...[cached, cacheWrite, cached + cacheWrite].map((input) => [input, reasoning] as const),
]

function withCountsBeside(counts: ReportedCounts, beside: readonly CountedBeside[]): ReportedCounts {
  const { input, cached, output, reasoning } = counts
  return {
    ...counts,
    input: beside.includes('cached') && cached > input ? input + cached : input,
    output: beside.includes('reasoning') ? output + reasoning : output,
  }
}
