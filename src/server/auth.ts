import type { IncomingHttpHeaders } from 'node:http'
import { addressNotAllowed, type CallerOutcome, CHALLENGE, callerProblem } from '../auth/callers.ts'
import { wholeSeconds } from '../lib/clock.ts'
import type { Networks } from '../lib/network.ts'
import type { Caller } from '../model/caller.ts'
import { PROBLEMS, type Problem, problem, type Refused, refused, retryableProblem } from '../model/problem.ts'
import type { RequestContext } from './request-context.ts'

type Authentication = { readonly kind: 'caller'; readonly caller: Caller } | Refused

/** Finds the caller by the head alone, before anything of the body is read. */
export function authenticate(context: RequestContext): Authentication | Promise<Authentication> {
  const { request, edge } = context
  const bearer = /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')
  if (bearer === null) return refused(limitUnauthenticated(context, missingKey(request.headers)))
  const found = edge.callers.find(bearer[1]!)
  return found instanceof Promise ? found.then((late) => admitCaller(context, late)) : admitCaller(context, found)
}

export function admitCaller(context: RequestContext, found: CallerOutcome): Authentication {
  const { log } = context
  if (found.kind === 'refused') {
    log.key_refusal = found.reason
    return refused(limitUnauthenticated(context, callerProblem(found.reason)))
  }
  const { networks } = found.caller
  const refusal = networks === undefined ? undefined : refuseAddress(context, networks)
  log.account_id = found.caller.accountId
  log.key_id = found.caller.keyId
  if (refusal !== undefined) return refused(refusal)
  context.caller = found.caller
  return found
}

/** By the address of the client, as far as the proxies in between are trusted. */
export function refuseAddress({ edge, request, log }: RequestContext, networks: Networks): Problem | undefined {
  const address = edge.findClientAddress(request)
  if (address !== undefined && networks.has(address)) return undefined
  log.key_refusal = 'address'
  return addressNotAllowed(address)
}

const LOOK_AGAIN_MS = 1000

/**
 * Cuts the connection of a client that reads a running answer, within a second after its key or account may no longer call. Returns how
 * to stop looking.
 */
export function cutWhenRefused(context: RequestContext, caller: Caller): () => void {
  const { callers } = context.edge
  const look = async () => {
    const again = await callers.findAgain(caller)
    const isRefused =
      again.kind === 'refused' ||
      (again.caller.networks !== undefined && refuseAddress(context, again.caller.networks) !== undefined)
    if (isRefused) context.response.destroy()
  }
  // What cannot be read now is read the next time.
  const timer = setInterval(() => void look().catch(() => {}), LOOK_AGAIN_MS).unref()
  return () => clearInterval(timer)
}

function missingKey(headers: IncomingHttpHeaders): Problem {
  if (!headers.authorization) {
    const elsewhere = ['x-api-key', 'api-key', 'x-goog-api-key'].find((name) => headers[name] !== undefined)
    const hint = elsewhere ? ` A key in ${elsewhere} is not read.` : ''
    return problem('missing_api_key', `No API key was sent.${hint} Send "Authorization: Bearer <key>".`, CHALLENGE)
  }
  return problem(
    'invalid_api_key',
    'The Authorization header is not of the form "Bearer <key>". Check that the key is not empty and has no spaces.',
    CHALLENGE,
  )
}

/**
 * Every 401 takes one request from the rate limit of its client's address. When that is used up, the answer is 429 instead. The key is
 * checked first, so a caller that shares an address with a flood is served.
 */
export function limitUnauthenticated(context: RequestContext, refusal: Problem): Problem {
  return PROBLEMS[refusal.code].status === 401 ? (countUnauthenticated(context) ?? refusal) : refusal
}

/** Takes one request from the rate limit of the client's address; a problem when that is used up. */
export function countUnauthenticated({ edge, request }: RequestContext): Problem | undefined {
  const address = edge.findClientAddress(request)
  const taken = address === undefined ? undefined : edge.unauthenticatedLimiter.take(address)
  if (taken?.kind !== 'refused') return undefined
  return retryableProblem(
    'rate_limit_exceeded',
    `This address is limited to ${taken.perMinute} requests per minute without a valid key.`,
    {
      first: 'Check the key',
      retryAfterSeconds: wholeSeconds(taken.waitMs),
      details: { limit: { scope: 'address', kind: 'requests', value: taken.perMinute } },
    },
  )
}
