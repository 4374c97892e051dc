import type { Fields } from '../../lib/is-object.ts'
import { type Problem, streamEnvelope } from '../../model/problem.ts'

/**
 * What the event `error` says. Some clients read it flat and some nested, and some look at neither and wait for
 * `response.failed`, so it says everything twice and is never the last word.
 */
export function errorFields(subject: Problem, requestId: string): Fields {
  const { code, message, param } = subject
  return { code, message, param, ...streamEnvelope(subject, requestId) }
}
