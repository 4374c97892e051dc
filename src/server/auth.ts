import { type CallerOutcome, CHALLENGE, callerProblem } from '../auth/callers.ts'
import { wholeSeconds } from '../lib/clock.ts'
import type { Caller } from '../model/caller.ts'
import { PROBLEMS, type Problem, passingProblem, problem, type Refused, refused } from '../model/problem.ts'
import type { Exchange } from './request-context.ts'

type Authentication = { readonly kind: 'caller'; readonly caller: Caller } | Refused

/** Who is asking, from the head alone: nothing of the body has been read when this refuses. */
export function authenticate(exchange: Exchange): Authentication | Promise<Authentication> {
  const token = bearerToken(exchange.request.headers)
  if (typeof token !== 'string') return refused(countStranger(exchange, token))
  const found = exchange.edge.findCaller(token)
  return found instanceof Promise ? found.then((late) => admitCaller(exchange, late)) : admitCaller(exchange, found)
}

export function admitCaller(exchange: Exchange, found: CallerOutcome): Authentication {
  const { log } = exchange
  if (found.kind === 'refused') {
    log.key_refusal = found.reason
    return refused(countStranger(exchange, callerProblem(found.reason)))
  }
  log.account_id = found.caller.accountId
  log.key_id = found.caller.keyId
  exchange.caller = found.caller
  return found
}

function bearerToken(headers: NodeJS.Dict<string | string[]>): string | Problem {
  const { authorization } = headers
  if (typeof authorization !== 'string' || authorization === '') {
    const elsewhere = ['x-api-key', 'api-key', 'x-goog-api-key'].find((name) => headers[name] !== undefined)
    const hint = elsewhere ? ` A key in ${elsewhere} is not read.` : ''
    return problem('missing_api_key', `No API key was sent.${hint} Send "Authorization: Bearer <key>".`, CHALLENGE)
  }
  const match = /^bearer +(\S+) *$/i.exec(authorization)
  if (match) return match[1]!
  return problem(
    'invalid_api_key',
    'The Authorization header is not of the form "Bearer <key>". Check that the key is not empty and has no spaces.',
    CHALLENGE,
  )
}

/**
 * Every 401 takes one from the rate of its client's address; where that is used up, the client is told to wait instead.
 * Who has a key is asked for first: whoever shares an address with a flood is served as ever.
 */
function countStranger({ edge, request }: Exchange, refusal: Problem): Problem {
  if (PROBLEMS[refusal.code].status !== 401) return refusal
  const address = edge.findClientAddress(request)
  const taken = address === undefined ? undefined : edge.takeFromAddress(address)
  if (taken?.kind !== 'refused') return refusal
  return passingProblem(
    'rate_limit_exceeded',
    `This address is limited to ${taken.perMinute} requests per minute without a valid API key.`,
    {
      first: 'Check the key',
      retryAfterSeconds: wholeSeconds(taken.waitMs),
      details: { limit: { scope: 'address', kind: 'requests', value: taken.perMinute } },
    },
  )
}
