import type { CatalogEntry, Lane } from '../catalog/catalog.ts'
import type { AdmittedTurn, Attempt } from '../ledger/ledger.ts'
import type { Effort } from '../model/effort.ts'
import { type Problem, problem } from '../model/problem.ts'
import type { TurnRequest } from '../model/turn.ts'
import type { Send } from '../upstream/send.ts'
import type { UpstreamOutcome } from '../upstream/upstream-answer.ts'
import { retargetRequest } from '../wire/chat/retarget-request.ts'
import { createChatTap } from '../wire/chat/tap.ts'
import { relayJson } from './relay-json.ts'
import { relayStream } from './relay-stream.ts'
import { NOTHING_PRODUCED, type Run, type RunFate } from './run.ts'
import type { Sink } from './sink.ts'
import type { TurnAbort } from './turn-abort.ts'

export interface LaneRunDeps {
  readonly send: Send
  readonly ticks: () => number
  readonly bounds: TurnBounds
}

/** Bounds on what a provider may send us. */
export interface TurnBounds {
  readonly frameBytesMax: number
  readonly bodyBytesMax: number
  readonly depthMax: number
  readonly valuesMax: number
}

/** A turn that may run: what it asks, of whom, with which money. */
export interface RunnableTurn {
  readonly turn: TurnRequest
  readonly entry: CatalogEntry
  readonly effort: Effort | undefined
  readonly hold: AdmittedTurn
  readonly sink: Sink
  readonly abort: TurnAbort
  readonly ignoredFields: readonly string[]
}

/**
 * Tries lane after lane until one has answered or none is left. A failure before the first content moves on to the next
 * lane; after it there is no other lane any more.
 */
export async function runLanes(deps: LaneRunDeps, work: RunnableTurn, lanes: readonly Lane[]): Promise<Run> {
  const attempts: Attempt[] = []
  let last: RunFate = {
    kind: 'failed',
    problem: problem('no_lane_available', 'No provider can serve this model now. Try again shortly.'),
  }
  let firstContentAt: number | undefined
  for (const lane of lanes) {
    const startedAt = deps.ticks()
    const onFirstContent = () => {
      firstContentAt = deps.ticks()
    }
    const tried = await tryLane(deps, work, lane, onFirstContent)
    attempts.push({
      lane: lane.id,
      outcome: tried.fate.kind,
      status: tried.status,
      ms: msBetween(startedAt, deps.ticks()),
    })
    last = tried.fate
    if (tried.fate.kind === 'finished') firstContentAt ??= deps.ticks()
    if (!tried.mayTryAnother) return { fate: last, lane, attempts, firstContentAt }
  }
  return { fate: last, lane: lanes.at(-1), attempts, firstContentAt }
}

export const msBetween = (fromTicks: number, toTicks: number): number => Math.round((toTicks - fromTicks) / 1000)

interface TriedLane {
  readonly fate: RunFate
  readonly status: number | undefined
  readonly mayTryAnother: boolean
}

async function tryLane(
  deps: LaneRunDeps,
  work: RunnableTurn,
  lane: Lane,
  onFirstContent: () => void,
): Promise<TriedLane> {
  const { turn, entry, effort, hold, abort, ignoredFields } = work
  const body = retargetRequest(turn, { model: lane.model, effort, outputCap: hold.cap, ignoredFields })
  const outcome = await deps.send({ upstream: lane.upstream, body, signal: abort.signal })
  if (outcome.kind === 'failed' || outcome.status >= 400) return refusedBy(outcome, abort)

  const fate =
    turn.delivery === 'json'
      ? await relayJson({ body: outcome.body, abort, bounds: deps.bounds })
      : await relayStream({
          body: outcome.body,
          tap: createChatTap({ laneModel: lane.model, publicModel: entry.id }),
          sink: work.sink,
          hold,
          abort,
          bytesPerToken: entry.model.bytesPerToken,
          frameBytesMax: deps.bounds.frameBytesMax,
          onFirstContent,
        })
  return { fate, status: outcome.status, mayTryAnother: fate.kind === 'failed' }
}

/** The provider gave no answer, or one that says no. What it said is read for its class, never forwarded. */
function refusedBy(outcome: UpstreamOutcome, abort: TurnAbort): TriedLane {
  const status = outcome.kind === 'answer' ? outcome.status : undefined
  if (outcome.kind === 'answer') outcome.body.cancel()
  if (abort.reason) {
    const fate: RunFate = { kind: 'stopped', reason: abort.reason, accepted: false, used: NOTHING_PRODUCED }
    return { fate, status, mayTryAnother: false }
  }
  const clientFault = status === 400 || status === 404 || status === 413 || status === 422
  return { fate: { kind: 'failed', problem: problemOf(outcome) }, status, mayTryAnother: !clientFault }
}

function problemOf(outcome: UpstreamOutcome): Problem {
  const source = 'upstream'
  if (outcome.kind === 'failed') {
    return outcome.reason === 'timeout'
      ? problem('upstream_timeout', 'The provider did not answer in time. Nothing was charged. Try again shortly.', {
          source,
        })
      : problem('server_is_overloaded', 'The provider could not be reached. Nothing was charged. Try again shortly.', {
          source,
        })
  }
  const { status } = outcome
  if (status === 429) return problem('upstream_busy', 'The provider is limiting requests; try again in 1s.', { source })
  if (status >= 500 || status === 401 || status === 402 || status === 403 || status === 408) {
    return problem(
      'server_is_overloaded',
      `The provider failed with status ${status}. Nothing was charged. Try again shortly.`,
      { source },
    )
  }
  return problem('upstream_rejected', `The provider refused the request with status ${status}. Nothing was charged.`, {
    source,
  })
}
