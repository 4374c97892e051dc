import type { TurnRequest } from '../../model/turn.ts'
import { laneDialect } from '../../routing/lane-dialect.ts'
import type { LaneLessons } from '../../routing/lane-lessons.ts'
import type { LaneDialect } from '../../wire/codecs.ts'
import type { RefusalClass } from '../../wire/refusals/classify-refusal.ts'
import { refusesTrigger } from '../../wire/refusals/refused-field.ts'
import type { RunningTurn } from '../running-turn.ts'
import { type AskedLane, askLane, type Manner, stopped } from './ask-lane.ts'
import type { LaneDeps, LaneTry } from './lane-try.ts'
import type { RunFate } from './run.ts'

const PLAINLY: Manner = {
  ...{ lessonsTaken: 0, withoutFields: [], withoutSeals: false, withoutNativeCompaction: false, onceMore: false },
}

/**
 * Tries one lane, which may be asked more than once: what it does not take, and what the turn is worth without, it is not
 * asked for again.
 */
export async function tryLane(deps: LaneDeps, turn: RunningTurn, on: LaneTry): Promise<RunFate> {
  const { lane } = on
  for (let manner = PLAINLY; ; ) {
    // Who has gone before anybody was asked has cost nothing.
    if (turn.stop.calledOff) return stopped(turn.stop.calledOff, undefined).fate
    const dialect = without(deps.lessons.dialectOf(lane.id, laneDialect(lane)), manner.withoutFields)
    const asked = await askLane(deps, turn, on, { dialect, manner })
    on.answered(asked.tried)
    const { lessons } = deps
    const isOnly = turn.entry.model.lanes.length === 1
    const other = anotherManner({ lessons, request: turn.request, laneId: lane.id, isOnly, dialect, manner, asked })
    if (other === undefined) return asked.tried.fate
    manner = other
  }
}

const without = (dialect: LaneDialect, fields: readonly string[]): LaneDialect =>
  fields.length === 0 ? dialect : { ...dialect, withoutFields: [...dialect.withoutFields, ...fields] }

interface Answered {
  readonly lessons: LaneLessons
  readonly request: TurnRequest
  readonly laneId: string
  /** There is no other lane to ask. */
  readonly isOnly: boolean
  readonly dialect: LaneDialect
  readonly manner: Manner
  readonly asked: AskedLane
}

/** Asks the same lane in another manner; undefined where that is no help. */
type Cure = (answered: Answered) => Manner | undefined

/** What a lane may not take, and how it is asked without that. The first that helps is tried. */
const CURES: readonly Cure[] = [withoutField, withoutSeals, withoutNativeCompaction, onceMore]

function anotherManner(answered: Answered): Manner | undefined {
  if (answered.asked.tried.fate.kind !== 'failed') return undefined
  for (const cure of CURES) {
    const manner = cure(answered)
    if (manner) return manner
  }
  return undefined
}

/** A server that refuses a field is asked again without it; one that refuses many is not our server. */
const LESSONS_A_TURN_MAX = 3

/** A field that we write is learned, one of the client's is left out of its one turn. */
function withoutField({ lessons, laneId, dialect, manner, asked: { refusal } }: Answered): Manner | undefined {
  if (refusal?.kind !== 'unsupported-field' || manner.lessonsTaken >= LESSONS_A_TURN_MAX) return undefined
  const lessonsTaken = manner.lessonsTaken + 1
  if (lessons.learn(laneId, dialect, refusal.error)) return { ...manner, lessonsTaken }
  const passing = lessons.passing(dialect, refusal.error)
  if (passing.length === 0) return undefined
  return { ...manner, lessonsTaken, withoutFields: [...manner.withoutFields, ...passing] }
}

/** What a model has thought before is not worth a turn that fails. A relay gives nothing back but what its client has sent. */
function withoutSeals({ request, dialect, manner, asked: { tried } }: Answered): Manner | undefined {
  if (tried.fate.kind !== 'failed' || !tried.fate.refusesSeals || manner.withoutSeals) return undefined
  const mayGiveSeals = request.protocol === 'responses' ? request.sealed.size > 0 : dialect.wire !== 'chat'
  return mayGiveSeals ? { ...manner, withoutSeals: true } : undefined
}

/** After a slip of the model, the only lane of a model gets the same request once more; otherwise the next lane gets it. */
function onceMore({ isOnly, manner, asked: { tried } }: Answered): Manner | undefined {
  if (!isOnly || manner.onceMore || tried.fate.kind !== 'failed' || !tried.fate.slipped) return undefined
  return { ...manner, onceMore: true }
}

/** What a server may say that has never heard of compaction. */
const CANNOT_COMPACT: ReadonlySet<RefusalClass> = new Set(['rejected', 'unsupported-field', 'not-found'])

function withoutNativeCompaction({ lessons, laneId, manner, asked: { road, refusal } }: Answered): Manner | undefined {
  if (road.nativeCompaction === undefined) return undefined
  const hasNotCompacted = road.nativeCompaction.hasFailed()
  const refusesIt = refusal !== undefined && CANNOT_COMPACT.has(refusal.kind)
  if (!hasNotCompacted && !refusesIt) return undefined
  // What is wrong with one request must not be held against the server by everybody else's.
  if (hasNotCompacted || (refusal && refusesTrigger(refusal.error))) lessons.learnNoCompaction(laneId)
  return { ...manner, withoutNativeCompaction: true }
}
