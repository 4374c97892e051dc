import { scrub } from '../telemetry/scrub.ts'

/** What a person is told of a failure that nobody expected: what broke and why, without a stack and without secrets. */
export function failureSentences(error: unknown): string[] {
  if (error instanceof AggregateError) return error.errors.flatMap(failureSentences)
  if (!(error instanceof Error)) return [scrub(String(error))]
  // Whoever wraps a failure often quotes it: what was said already is not said again.
  const message = scrub(error.message)
  const causes = error.cause === undefined ? [] : failureSentences(error.cause)
  return [message, ...causes.filter((cause) => !message.includes(cause))]
}
