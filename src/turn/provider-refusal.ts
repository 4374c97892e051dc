import { type Problem, problem } from '../model/problem.ts'
import { oneLine, scrub } from '../telemetry/scrub.ts'
import type { DeadlinePhase } from '../upstream/deadlines.ts'
import { type UpstreamFailed, WAIT_MAX_MS } from '../upstream/upstream-answer.ts'
import { classifyRefusal, type RefusalClass } from '../wire/refusals/classify-refusal.ts'
import type { ProviderError, UpstreamSaid } from '../wire/refusals/provider-error.ts'
import { refusesSeals } from '../wire/refusals/refused-field.ts'
import { verdictOfRefusal } from './lane-verdict.ts'
import type { FailedLane } from './run.ts'

const SOURCE = { source: 'upstream' } as const
const FREE = 'Nothing was charged.'
const quoting = (error: ProviderError): string =>
  error.message === '' ? '' : ` The provider says: ${oneLine(error.message)}`

/** A failure that is this lane's own, after the request had gone out to it. */
export const failed = (problem: Problem): FailedLane => ({
  kind: 'failed',
  problem,
  sameElsewhere: false,
  mayBeBilled: true,
  verdict: { kind: 'failed' },
})

/** Any other provider would say the same. */
const SAME_ELSEWHERE: ReadonlySet<RefusalClass> = new Set(['rejected', 'too-long', 'too-large', 'filtered'])

/** The provider said no before any content, by its status or in its answer. A header says better when to come back. */
export function refused(error: ProviderError, retryAfterMs = error.retryAfterMs): FailedLane {
  const kind = classifyRefusal(error)
  const sameElsewhere = SAME_ELSEWHERE.has(kind)
  const said = problemOfRefusal(kind, error, retryAfterMs)
  const verdict = verdictOfRefusal(kind, error, retryAfterMs)
  return {
    kind: 'failed',
    problem: said,
    sameElsewhere,
    mayBeBilled: false,
    verdict,
    refusesSeals: refusesSeals(error),
  }
}

/** An error inside an answer has no status: its words are all there is. */
export const refusedInside = (said: UpstreamSaid): FailedLane =>
  refused({ ...said, status: undefined, param: said.param })

/** A field's name and nothing else: what a provider writes there goes to the client as it is. */
const fieldOf = ({ param }: ProviderError): string | null =>
  param !== undefined && /^[\w.[\]-]{1,100}$/.test(param) && scrub(param) === param ? param : null

/** What a client is told. */
function problemOfRefusal(kind: RefusalClass, error: ProviderError, retryAfterMs: number | undefined): Problem {
  const param = fieldOf(error)
  switch (kind) {
    case 'too-long':
      return problem(
        'context_length_exceeded',
        `The input is longer than the model's context. Send less.${quoting(error)}`,
        { ...SOURCE, param: 'messages' },
      )
    case 'too-large':
      return problem('request_too_large', `The request is larger than the provider takes. Send less. ${FREE}`, SOURCE)
    case 'rejected':
    case 'filtered':
    case 'unsupported-field':
      return problem('upstream_rejected', `The provider refused the request. ${FREE}${quoting(error)}`, {
        ...SOURCE,
        param,
      })
    case 'throttled': {
      const seconds = Math.max(1, Math.ceil(Math.min(retryAfterMs ?? 1000, WAIT_MAX_MS) / 1000))
      return problem('upstream_busy', `The provider limits requests at the moment. ${FREE} try again in ${seconds}s.`, {
        ...SOURCE,
        retryAfterSeconds: seconds,
      })
    }
    // A missing model or a refused credential is for the operator to mend; the client can only come back.
    case 'not-found':
    case 'credential':
    case 'failed':
      return overloaded(
        error.status === undefined ? 'The provider failed.' : `The provider failed with status ${error.status}.`,
      )
  }
}

export function problemOfFailure(failed: UpstreamFailed): Problem {
  if (failed.reason === 'timeout') return timedOut(failed.expired)
  return overloaded(
    failed.reason === 'broken-off' ? 'The connection to the provider broke.' : 'The provider could not be reached.',
  )
}

export const timedOut = (phase: DeadlinePhase | undefined): Problem =>
  problem(
    'upstream_timeout',
    `The provider did not answer in time${phase === undefined ? '' : ` (${phase})`}. ${FREE} Try again shortly.`,
    {
      ...SOURCE,
      retryAfterSeconds: 1,
    },
  )

export const overloaded = (what: string): Problem =>
  problem('server_is_overloaded', `${what} ${FREE} Try again shortly.`, { ...SOURCE, retryAfterSeconds: 1 })

/** What is said when every lane was tried: the one answer they have in common, or that none could. */
export function commonProblem(problems: readonly Problem[]): Problem {
  const [first] = problems
  if (first === undefined || problems.some(({ code }) => code !== first.code))
    return overloaded('Every provider of this model failed.')
  const soonest = Math.min(...problems.map(({ retryAfterSeconds }) => retryAfterSeconds ?? 1))
  return problems.find(({ retryAfterSeconds }) => (retryAfterSeconds ?? 1) === soonest) ?? first
}
