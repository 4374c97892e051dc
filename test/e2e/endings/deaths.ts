import type { Course, Ending, Expected } from './ending.ts'
import { broken, refused } from './provider-endings.ts'
import { type Step, WHOLE } from './provider-steps.ts'
import { ROWS } from './rows.ts'

/** What the process has to have come to, for every caller, when it is ended. */
export type Moment =
  /** The providers have answered those who asked before their hold was durable, and no hold is. */
  | 'no hold is recorded'
  /** Every hold is recorded, and every provider waits in its steps. */
  | 'every provider waits'
  /** The same, and what was delivered is marked. */
  | 'every provider waits, marked'
  /** The answers are whole, and kept where they are; the charges are not recorded. */
  | 'no charge is recorded'
  /** The charges are recorded, and nothing of the end has gone out. */
  | 'every charge is recorded'

/** An ending by the end of the process. */
export interface Death extends Omit<Ending, 'json' | 'stream'> {
  readonly json: Course
  readonly stream: Course
  readonly moment: Moment
  /** SIGTERM ends it in order, without any patience for what still runs. */
  readonly signal: 'SIGKILL' | 'SIGTERM'
  /** Marks are not recorded: it dies before the first of them could be. */
  readonly unmarked?: true
}

const nothing: Pick<Expected, 'seen' | 'claim'> = { seen: { kind: 'nothing' }, claim: 'free' }
const cut: Pick<Expected, 'seen' | 'claim'> = { seen: { kind: 'cut' }, claim: 'free' }
/** Recovery has charged what was marked: the answer is gone, and must not be run again. */
const recovered = (words: number): Expected => ({
  ...{ row: ROWS.diedInside, ...cut, marked: words },
  withKey: { claim: 'not-kept' },
})
const storedAnswer = { row: ROWS.diedKept, asIf: ROWS.complete } as const
const keptAnswer = { row: ROWS.diedKept, asIf: ROWS.complete, claim: 'kept' } as const

const BEFORE_CONTENT = {
  json: ['head', 'half', 'pause', 'rest'],
  stream: ['head', 'role', 'pause', 'word', 'word', 'word', 'word', 'stop', 'usage', 'done'],
} as const satisfies Record<string, readonly Step[]>
const MIDDLE: readonly Step[] = ['head', 'role', 'word', 'word', 'pause', 'word', 'word', 'stop', 'usage', 'done']
const ALL_SAID = { text: ' you' }

export const DEATHS: readonly Death[] = [
  {
    name: 'killed before the hold is durable',
    moment: 'no hold is recorded',
    signal: 'SIGKILL',
    json: { row: ROWS.notHeld, ...nothing, provider: [WHOLE.json] },
    stream: { row: ROWS.notHeld, ...nothing, provider: [WHOLE.stream] },
  },
  {
    name: 'killed after the hold, before content',
    moment: 'every provider waits',
    signal: 'SIGKILL',
    json: { row: ROWS.diedInside, ...nothing, provider: [BEFORE_CONTENT.json] },
    stream: { row: ROWS.diedInside, ...nothing, provider: [BEFORE_CONTENT.stream] },
  },
  {
    name: 'killed in the middle, before the first mark',
    moment: 'every provider waits',
    signal: 'SIGKILL',
    unmarked: true,
    json: { row: ROWS.diedInside, ...nothing, provider: [BEFORE_CONTENT.json] },
    stream: { row: ROWS.diedInside, ...cut, provider: [MIDDLE], until: { text: 'morning' } },
  },
  {
    name: 'killed in the middle, marked',
    moment: 'every provider waits, marked',
    signal: 'SIGKILL',
    json: { row: ROWS.diedInside, ...nothing, provider: [BEFORE_CONTENT.json] },
    stream: { ...recovered(2), provider: [MIDDLE], until: { text: 'morning' } },
  },
  {
    name: 'killed when the answer is whole and its charge is not recorded',
    moment: 'no charge is recorded',
    signal: 'SIGKILL',
    // The client has not read the id of a JSON answer that was stored: it stays there, and is not charged for.
    json: { row: ROWS.diedInside, ...nothing, stored: 'completed', provider: [WHOLE.json], withKey: keptAnswer },
    stream: {
      ...{ ...recovered(4), provider: [WHOLE.stream], until: ALL_SAID },
      ...{ withKey: keptAnswer, whenStored: storedAnswer },
    },
    compacted: {
      ...{ row: ROWS.diedInside, ...nothing, stored: 'completed', provider: [WHOLE.stream] },
      ...{ withKey: keptAnswer, whenStreamed: storedAnswer },
    },
  },
  {
    name: 'killed after the charge, before the end',
    moment: 'every charge is recorded',
    signal: 'SIGKILL',
    json: { row: ROWS.diedCharged, ...nothing, provider: [WHOLE.json], withKey: { claim: 'kept' } },
    stream: { row: ROWS.diedCharged, ...cut, provider: [WHOLE.stream], until: ALL_SAID, withKey: { claim: 'kept' } },
  },
  {
    name: 'stopped with no time to drain',
    moment: 'every provider waits',
    signal: 'SIGTERM',
    json: { row: ROWS.drainedEarly, ...refused('server_draining'), provider: [BEFORE_CONTENT.json] },
    stream: {
      ...{ row: ROWS.drainedLater, ...broken('server_draining'), claim: 'not-kept', words: 2 },
      ...{ provider: [MIDDLE], until: { text: 'morning' } },
    },
  },
]
