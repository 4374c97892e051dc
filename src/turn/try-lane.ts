import type { Lane } from '../catalog/catalog.ts'
import { laneDialect } from '../routing/lane-dialect.ts'
import type { LaneDialect } from '../wire/codecs.ts'
import type { RefusalClass } from '../wire/refusals/classify-refusal.ts'
import { refusesTrigger } from '../wire/refusals/refused-field.ts'
import { type AskedLane, askLane, type Manner, stopped, type TriedLane } from './ask-lane.ts'
import type { LaneDeps, RunnableTurn } from './runnable-turn.ts'

/** A server that refuses a field is asked again without it; one that refuses many is not our server. */
const LESSONS_A_TURN_MAX = 3

const PLAINLY: Manner = { lessonsTaken: 0, withoutFields: [], withoutSeals: false, withoutNativeCompaction: false }

/**
 * Tries one lane, which may be asked more than once: what it does not take, and what the turn is worth without, it is not
 * asked for again.
 */
export async function tryLane(
  deps: LaneDeps,
  work: RunnableTurn,
  lane: Lane,
  onFirstContent: () => void,
): Promise<TriedLane> {
  for (let manner = PLAINLY; ; ) {
    // Who has gone before anybody was asked has cost nothing.
    if (work.abort.reason) return stopped(work.abort, undefined)
    const dialect = without(deps.lessons.dialectOf(lane.id, laneDialect(lane)), manner.withoutFields)
    const asked = await askLane(deps, work, { lane, dialect, manner }, onFirstContent)
    const other = anotherManner(deps, work, { lane, dialect, manner, asked })
    if (other === undefined) return asked.tried
    manner = other
  }
}

const without = (dialect: LaneDialect, fields: readonly string[]): LaneDialect =>
  fields.length === 0 ? dialect : { ...dialect, withoutFields: [...dialect.withoutFields, ...fields] }

interface Answered {
  readonly lane: Lane
  readonly dialect: LaneDialect
  readonly manner: Manner
  readonly asked: AskedLane
}

/** How the same lane is asked again; undefined where there is no other way, or no need. */
function anotherManner(
  { lessons }: LaneDeps,
  work: RunnableTurn,
  { lane, dialect, manner, asked: { tried, road, refusal } }: Answered,
): Manner | undefined {
  if (tried.fate.kind !== 'failed') return undefined
  if (refusal?.kind === 'unsupported-field' && manner.lessonsTaken < LESSONS_A_TURN_MAX) {
    const lessonsTaken = manner.lessonsTaken + 1
    if (lessons.learn(lane.id, dialect, refusal.error)) return { ...manner, lessonsTaken }
    const passing = lessons.passing(dialect, refusal.error)
    if (passing.length > 0) return { ...manner, lessonsTaken, withoutFields: [...manner.withoutFields, ...passing] }
  }
  // What a model has thought before is not worth a turn that fails.
  if (tried.fate.refusesSeals && !manner.withoutSeals && mayGiveSeals(work, dialect)) {
    return { ...manner, withoutSeals: true }
  }
  const hasNotCompacted = road.nativeCompaction?.hasFailed() ?? false
  const refusesIt = road.nativeCompaction !== undefined && refusal !== undefined && CANNOT_COMPACT.has(refusal.kind)
  if (!hasNotCompacted && !refusesIt) return undefined
  // What is wrong with one request must not be held against the server by everybody else's.
  if (hasNotCompacted || (refusal && refusesTrigger(refusal.error))) lessons.learnNoCompaction(lane.id)
  return { ...manner, withoutNativeCompaction: true }
}

/** A relay gives nothing back but what its client has sent. */
const mayGiveSeals = ({ turn }: RunnableTurn, { wire }: LaneDialect): boolean =>
  turn.protocol === 'responses' ? turn.sealed.size > 0 : wire !== 'chat'

/** What a server may say that has never heard of compaction. */
const CANNOT_COMPACT: ReadonlySet<RefusalClass> = new Set(['rejected', 'unsupported-field', 'not-found'])
