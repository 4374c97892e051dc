import type { ResponsesDialect } from './dialects.ts'

export const SEALED_REASONING = 'reasoning.encrypted_content'
export const LOGPROBS = 'message.output_text.logprobs'

/**
 * What a lane is asked to include. Sealed reasoning is asked of every server that has it, whoever wants it: without state
 * of its own the next turn could not go on from it. Everything else that can be included is of tools that providers run.
 */
export function includeFor(dialect: ResponsesDialect, asked: { readonly logprobs: boolean }): readonly string[] {
  if (dialect.withoutFields.includes('include')) return []
  const logprobs = asked.logprobs && takesLogprobs(dialect)
  return [...(dialect.sealsReasoning ? [SEALED_REASONING] : []), ...(logprobs ? [LOGPROBS] : [])]
}

/** Those that refuse to be asked for them refuse it in every place. */
export const takesLogprobs = ({ withoutFields }: ResponsesDialect): boolean =>
  !withoutFields.includes('include') && !withoutFields.includes('logprobs')
