import { PROBLEMS, type Problem, problem } from '../model/problem.ts'
import type { Exchange } from './exchange.ts'

/**
 * Every 401 takes one from the rate of its client's address; where that is used up, the client is told to wait instead.
 * Who has a key is asked for first: whoever shares an address with a flood is served as ever.
 */
export function slowStrangers({ edge, request }: Exchange, refusal: Problem): Problem {
  if (PROBLEMS[refusal.code].status !== 401) return refusal
  const address = edge.findClientAddress(request)
  const taken = address === undefined ? undefined : edge.takeFromAddress(address)
  if (taken?.kind !== 'refused') return refusal
  const seconds = Math.max(1, Math.ceil(taken.waitMs / 1000))
  return problem(
    'rate_limit_exceeded',
    `This address is limited to ${taken.perMinute} requests per minute without a valid API key. Check the key; try again in ${seconds}s.`,
    {
      retryAfterSeconds: seconds,
      details: { limit: { scope: 'address', kind: 'requests', value: taken.perMinute } },
    },
  )
}
