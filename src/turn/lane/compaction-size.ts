import type { Model } from '../../catalog/catalog.ts'
import { estimateInput, estimateTokens } from '../../metering/size-input.ts'
import type { CompactedTokens } from '../../model/compaction.ts'
import type { InputSize, TurnRequest } from '../../model/turn.ts'
import type { MeteredUsage } from '../../model/usage.ts'
import { SUMMARY_REQUEST_BYTES } from '../../wire/summary.ts'
import type { CompactedSize } from '../../wire/voice.ts'

/** The model reads one more message than the client has sent: what it is asked for. */
export const withSummaryRequest = (size: InputSize): InputSize => ({
  ...size,
  bodyBytes: size.bodyBytes + SUMMARY_REQUEST_BYTES,
  inputBytes: size.inputBytes + SUMMARY_REQUEST_BYTES,
  messages: size.messages + 1,
})

/**
 * The tokens that an answer is given room for at least. A summary is asked for when the context is nearly full: better that
 * a provider refuses than that it writes three words.
 */
export const leastRoomFor = (request: TurnRequest): number => (request.compacts !== undefined ? SUMMARY_TOKENS : 1)

const SUMMARY_TOKENS = 2048

/** How long the conversation was, and how long what stands in its place is: both by the catalogue's ratio. */
export function compactedTokens(
  { inputSize, otherInputs }: TurnRequest,
  model: Model,
  compacted: CompactedSize,
  usage: MeteredUsage,
): CompactedTokens {
  const sealedTokens = compacted.hasSealed ? usage.output : 0
  // That message is no part of the conversation.
  const before = { ...inputSize, inputBytes: inputSize.inputBytes - SUMMARY_REQUEST_BYTES }
  return {
    tokensBefore: estimateInput({ inputSize: before, otherInputs }, model),
    tokensAfter: estimateTokens(compacted.bytes, model.bytesPerToken) + sealedTokens,
  }
}
