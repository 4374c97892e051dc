import { isObject } from '../../lib/is-object.ts'
import { type Problem, problem } from '../../model/problem.ts'
import { wrongType } from '../fields/check-value.ts'
import { shown } from './check-member.ts'

const PAIRS_MAX = 16
const KEY_LENGTH_MAX = 64
const VALUE_LENGTH_MAX = 512

/** It is repeated in the response and kept with it, so it is bounded. */
export function checkMetadata(metadata: unknown): Problem | undefined {
  if (!isObject(metadata)) return undefined
  const pairs = Object.entries(metadata)
  if (pairs.length > PAIRS_MAX)
    return tooMuch(`\`metadata\` has ${pairs.length} pairs; at most ${PAIRS_MAX} are possible.`)
  for (const [key, value] of pairs) {
    if (key.length > KEY_LENGTH_MAX) {
      return tooMuch(`A key of \`metadata\` has ${key.length} characters; at most ${KEY_LENGTH_MAX} are possible.`)
    }
    if (typeof value !== 'string') return wrongType(`metadata.${key}`, value, 'a string')
    if (value.length > VALUE_LENGTH_MAX) {
      return tooMuch(
        `The value of ${shown(key)} in \`metadata\` has ${value.length} characters; at most ${VALUE_LENGTH_MAX} are possible.`,
      )
    }
  }
  return undefined
}

const tooMuch = (message: string): Problem => problem('invalid_value', message, { param: 'metadata' })
