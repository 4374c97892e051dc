import type { Fields } from '../../lib/types.ts'
import type { SettledCharge } from '../../model/ending.ts'
import { formatUsd } from '../../model/money.ts'
import type { InputUsage, Usage } from '../../model/price.ts'
import type { UpstreamError } from '../refusals/provider-error.ts'

/** What has been learned so far of a stream that a lane sends. */
export interface StreamState {
  /** The last usage that was reported. */
  usage: Usage | undefined
  /** It counts the whole answer. What is told before the answer ends is a lower bound. */
  usageIsFinal: boolean
  /** `outputBytes` when the usage was reported. */
  countedBytes: number
  /** What it has counted of its input before the output: all there is of its counts in an answer that breaks off. */
  inputCounted: InputUsage | undefined
  /** Bytes of text, reasoning and tool arguments that were produced: the base of an estimate where usage is absent. */
  outputBytes: number
  /** Frames that have brought words: many servers send one for each token. */
  contentFrames: number
  /** Tool calls that have begun. */
  calls: number
  /** Of those bytes, how many wait here for their turn and have not been handed on. */
  heldBytes: number
  /** The lane has said why the answer ends; its counts may still come. */
  finished: boolean
  /** The lane has said that nothing more comes. */
  done: boolean
  /** The lane's own error inside the stream. */
  error: UpstreamError | undefined
  /** What makes the answer invalid, so that it has failed; undefined while it is valid. */
  invalid: string | undefined
}

export const newStreamState = (): StreamState => ({
  usage: undefined,
  usageIsFinal: false,
  countedBytes: 0,
  inputCounted: undefined,
  outputBytes: 0,
  contentFrames: 0,
  calls: 0,
  heldBytes: 0,
  finished: false,
  done: false,
  error: undefined,
  invalid: undefined,
})

/**
 * Takes the usage that a frame has reported, after everything else of the frame was read. It is final when it came with the
 * finish or behind it, and when no more output came between it and the finish.
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

/** What a turn has cost, as clients of both protocols are told beside the usage: exact, as a decimal string. */
export const encodeCharge = ({ usage, charge, tier, price }: SettledCharge): Fields => ({
  charge: formatUsd(charge),
  currency: 'USD',
  tier,
  price_version: price.version,
  ...(usage.estimated ? { estimated: true } : {}),
})

/** Tokens as providers report them: the input includes what was cached, the output includes the reasoning. */
interface ReportedCounts {
  readonly input: number
  readonly cached: number
  readonly cacheWrite: number
  readonly output: number
  readonly reasoning: number
  /** See `Usage`. */
  readonly doubtful?: true
}

/** The same in classes that do not overlap, whatever a provider may have mixed up. */
export function usageOfCounts({ input, cached, cacheWrite, output, reasoning, doubtful }: ReportedCounts): Usage {
  const cachedInput = Math.min(cached, input)
  const written = Math.min(cacheWrite, input - cachedInput)
  return {
    cachedInput,
    cacheWrite: written,
    uncachedInput: input - cachedInput - written,
    output,
    reasoning: Math.min(reasoning, output),
    ...(doubtful ? { doubtful } : {}),
  }
}

/** Of one answer, in one class: no model reads or writes a thousandth of it. What is more is as much as this, so that sums stay numbers. */
const TOKENS_MAX = 1_000_000_000

/** A count of tokens; undefined when it is none. Zero is a number, and is believed. */
export const countOf = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 && Number.isFinite(value) ? Math.min(Math.ceil(value), TOKENS_MAX) : undefined

/** What a server may count beside the prompt or the completion, although others count it inside. */
export type CountedBeside = 'reasoning' | 'cached'

interface Agreement {
  /** Of the prompt and the completion together, where the provider says so. */
  readonly total: number | undefined
  /** What the server is known to count beside them, for usages whose total does not tell. */
  readonly beside: readonly CountedBeside[]
}

/**
 * Counts that sum up to the provider's own total. Providers agree on what a total is, since they bill by it, and not on
 * what a completion is: what the total has more is what was left out of the classes. It is explained by reasoning that
 * stands beside the completion, and by cached input and cache writes that stand beside the prompt. A rest that none of them
 * explains is charged to nobody, and makes the counts doubtful. A total that is smaller than its parts is a mistake, and the
 * classes are believed.
 */
export function agreeWithTotal(counts: ReportedCounts, { total, beside }: Agreement): ReportedCounts {
  const { input, output, reasoning } = counts
  const rest = total === undefined ? undefined : total - input - output
  // What is more than the whole cannot be inside of it.
  const mayBeInside = !beside.includes('reasoning') || reasoning <= output
  if (rest === undefined || rest < 0 || (rest === 0 && !mayBeInside)) return asKnown(counts, beside)
  if (rest === 0) return counts
  // The whole output was reasoning, and its provider counts a token of it less in the completion.
  if (rest === reasoning - output) return { ...counts, output: reasoning }
  for (const { moreInput, moreOutput } of explanationsOf(counts)) {
    if (rest === moreInput + moreOutput) return { ...counts, input: input + moreInput, output: output + moreOutput }
  }
  return { ...counts, doubtful: true }
}

/** What may stand beside the prompt, and beside the completion. Of two that fit, the first is likelier. */
function explanationsOf({ cached, cacheWrite, reasoning }: ReportedCounts) {
  return [
    { moreInput: 0, moreOutput: reasoning },
    { moreInput: cached, moreOutput: 0 },
    { moreInput: cacheWrite, moreOutput: 0 },
    { moreInput: cached + cacheWrite, moreOutput: 0 },
    { moreInput: cached, moreOutput: reasoning },
    { moreInput: cacheWrite, moreOutput: reasoning },
    { moreInput: cached + cacheWrite, moreOutput: reasoning },
  ]
}

function asKnown(counts: ReportedCounts, beside: readonly CountedBeside[]): ReportedCounts {
  const { input, cached, output, reasoning } = counts
  return {
    ...counts,
    input: beside.includes('cached') && cached > input ? input + cached : input,
    output: beside.includes('reasoning') ? output + reasoning : output,
  }
}
