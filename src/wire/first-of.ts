import { type Fields, isObject } from '../lib/is-object.ts'

/** Of several answers that a server could give at once the first, by its index; one without an index stands in its place. */
export function firstOf(answers: unknown): Fields | undefined {
  if (!Array.isArray(answers)) return undefined
  return answers.filter(isObject).find(({ index }, at) => (typeof index === 'number' ? index === 0 : at === 0))
}
