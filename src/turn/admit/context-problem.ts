import type { Model } from '../../catalog/catalog.ts'
import { BYTES_A_LEAST_TOKEN, leastTokens, textOfTokens } from '../../metering/least-tokens.ts'
import { dataBytesOf } from '../../metering/size-input.ts'
import { type Problem, problem } from '../../model/problem.ts'
import type { TurnRequest } from '../../model/turn.ts'
import { measureText } from '../../wire/fields/measure-text.ts'
import { askedField } from '../../wire/responses/asked-field.ts'

/**
 * Refuses input that surely exceeds the model's context, before any provider is asked. Input that only may exceed it is the
 * provider's to judge, and is held for by its own bound.
 */
export function contextProblem({ contextTokens }: Model, request: TurnRequest): Problem | undefined {
  const { inputSize, otherInputs, inputField } = request
  const bytes = inputSize.inputBytes - dataBytesOf(otherInputs)
  if (bytes <= contextTokens * BYTES_A_LEAST_TOKEN || mayBeTruncated(request)) return undefined
  const least = leastTokens(measureText(request, textOfTokens(TIMES_MEASURED * contextTokens)))
  if (least <= contextTokens) return undefined
  const message = `The input exceeds the context window of '${request.model}': it has at least ${least} tokens, and the maximum context length is ${contextTokens} tokens, input and output together. Send less input, or choose a model with a larger context.`
  return problem('context_length_exceeded', message, { param: inputField })
}

/** How far beyond the context it is worth to know how much there is. */
const TIMES_MEASURED = 2

/** The client leaves it to the provider to drop the middle of its input. */
const mayBeTruncated = (request: TurnRequest): boolean =>
  request.protocol === 'responses' && askedField(request, 'truncation') === 'auto'
