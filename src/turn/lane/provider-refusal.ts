import { wholeSeconds } from '../../lib/whole-seconds.ts'
import { type Problem, type ProblemCode, passingProblem, problem } from '../../model/problem.ts'
import { oneLine, scrub } from '../../telemetry/scrub.ts'
import type { DeadlinePhase } from '../../upstream/deadlines.ts'
import { type UpstreamFailed, WAIT_MAX_MS } from '../../upstream/upstream-answer.ts'
import { classifyRefusal, type RefusalClass } from '../../wire/refusals/classify-refusal.ts'
import type { ProviderError, UpstreamSaid } from '../../wire/refusals/provider-error.ts'
import { refusesSeals } from '../../wire/refusals/refused-field.ts'
import { verdictOfRefusal } from './lane-verdict.ts'
import type { FailedLane } from './run.ts'

/**
 * What became of a lane. How much of it a client has heard decides what was charged and what it can do, so that is worded
 * when it is told: `beforeContent` or `inStream`.
 */
export interface LaneFault {
  readonly code: ProblemCode
  readonly what: string
  /** In the provider's own words. */
  readonly quote?: string
  readonly param?: string | null
  /** Of what passes: how soon. */
  readonly retryAfterSeconds?: number
}

/** Nothing has gone out. Who has sent too much is told how to mend it, and of nothing else. */
function beforeContent({ code, what, quote, param = null, retryAfterSeconds }: LaneFault): Problem {
  const details = { source: 'upstream', param } as const
  if (retryAfterSeconds !== undefined) return passingProblem(code, what, { ...details, retryAfterSeconds })
  const money = code === 'context_length_exceeded' ? undefined : 'Nothing was charged.'
  return problem(code, sentences(what, money, quote), details)
}

/** These can be told apart in a stream; all else is one error there. */
const TOLD_IN_STREAM: ReadonlySet<ProblemCode> = new Set(['context_length_exceeded', 'upstream_timeout'])

/** After content an answer can be neither free nor tried elsewhere. */
export function inStream({ code, what, quote, param = null, retryAfterSeconds }: LaneFault): Problem {
  const told = TOLD_IN_STREAM.has(code) ? code : 'upstream_error'
  const details = { source: 'upstream', param } as const
  const first = 'What was received so far is charged'
  return retryAfterSeconds === undefined
    ? problem(told, sentences(what, quote, `${first}; send the request again to get a whole answer.`), details)
    : passingProblem(told, what, { ...details, first, retryAfterSeconds })
}

const sentences = (...said: readonly (string | undefined)[]): string =>
  said.filter((sentence) => sentence !== undefined).join(' ')

/** A lane that has failed, after the request had gone out to it. */
const laneFailed = (said: Problem): FailedLane => ({
  kind: 'failed',
  problem: said,
  sameElsewhere: false,
  mayBeBilled: true,
  verdict: { kind: 'failed' },
})

export const failed = (fault: LaneFault): FailedLane => laneFailed(beforeContent(fault))

/** Any other provider would say the same. */
const SAME_ELSEWHERE: ReadonlySet<RefusalClass> = new Set(['rejected', 'too-long', 'too-large', 'filtered'])

/** The provider said no before any content, by its status or in its answer. A header says better when to come back. */
export function refused(error: ProviderError, retryAfterMs = error.retryAfterMs): FailedLane {
  const kind = classifyRefusal(error)
  return {
    kind: 'failed',
    problem: beforeContent(faultOfRefusal(kind, error, retryAfterMs)),
    sameElsewhere: SAME_ELSEWHERE.has(kind),
    mayBeBilled: false,
    verdict: verdictOfRefusal(kind, error, retryAfterMs),
    refusesSeals: refusesSeals(error),
  }
}

/** An error inside an answer has no status: its words are all there is. */
const withoutStatus = (said: UpstreamSaid): ProviderError => ({ ...said, status: undefined, param: said.param })

export const refusedInside = (said: UpstreamSaid): FailedLane => refused(withoutStatus(said))

export function faultInside(said: UpstreamSaid): LaneFault {
  const error = withoutStatus(said)
  return faultOfRefusal(classifyRefusal(error), error, error.retryAfterMs)
}

/** A field's name and nothing else: what a provider writes there goes to the client as it is. */
const fieldOf = ({ param }: ProviderError): string | null =>
  param !== undefined && /^[\w.[\]-]{1,100}$/.test(param) && scrub(param) === param ? param : null

const quoting = ({ message }: ProviderError): { readonly quote?: string } =>
  message === '' ? {} : { quote: `The provider says: ${oneLine(message)}` }

/** What a client is told. */
function faultOfRefusal(kind: RefusalClass, error: ProviderError, retryAfterMs: number | undefined): LaneFault {
  switch (kind) {
    case 'too-long': {
      const what = "The input is longer than the model's context. Send less."
      return { code: 'context_length_exceeded', what, ...quoting(error), param: 'messages' }
    }
    case 'too-large':
      return { code: 'request_too_large', what: 'The request is larger than the provider takes. Send less.' }
    case 'rejected':
    case 'filtered':
    case 'unsupported-field': {
      const what = 'The provider refused the request.'
      return { code: 'upstream_rejected', what, ...quoting(error), param: fieldOf(error) }
    }
    case 'throttled': {
      const retryAfterSeconds = wholeSeconds(Math.min(retryAfterMs ?? 1000, WAIT_MAX_MS))
      return { code: 'upstream_busy', what: 'The provider limits requests at the moment.', retryAfterSeconds }
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

export function faultOfFailure({ reason, expired }: UpstreamFailed): LaneFault {
  if (reason === 'timeout') return timedOut(expired)
  return overloaded(
    reason === 'broken-off' ? 'The connection to the provider broke.' : 'The provider could not be reached.',
  )
}

export function timedOut(phase: DeadlinePhase | undefined): LaneFault {
  const what = `The provider did not answer in time${phase === undefined ? '' : ` (${phase})`}.`
  return { code: 'upstream_timeout', what, retryAfterSeconds: 1 }
}

export const overloaded = (what: string): LaneFault => ({ code: 'server_is_overloaded', what, retryAfterSeconds: 1 })

/** What is said when every lane was tried: the one answer they have in common, or that none could. */
export function commonProblem(problems: readonly Problem[]): Problem {
  const [first] = problems
  const isCommon = first !== undefined && problems.every(({ code }) => code === first.code)
  return isCommon ? first : beforeContent(overloaded('Every provider of this model failed.'))
}
