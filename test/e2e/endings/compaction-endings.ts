import type { Course, Ending, Expected } from './ending.ts'
import { broken, refused, whole } from './provider-endings.ts'
import { type Step, WHOLE } from './provider-steps.ts'
import { ROWS } from './rows.ts'

const SILENT = ['head', 'role', 'stop', 'usage'] as const satisfies readonly Step[]
const MUTE: readonly Step[] = [...SILENT, 'done']
const STARTED = ['head', 'role', 'word', 'word'] as const satisfies readonly Step[]
const REST = ['word', 'word', 'stop', 'usage', 'done'] as const satisfies readonly Step[]
const MIDDLE: readonly Step[] = [...STARTED, 'pause', ...REST]

const twice = (steps: readonly Step[]): readonly (readonly Step[])[] => [steps, steps]

/** Nothing of it has gone out, however far the first lane has come: another one may be tried. */
const secondAfter = (...steps: readonly Step[]): Course => ({
  row: ROWS.failover,
  provider: [steps, WHOLE.stream],
  lane: 'second',
  ...whole,
})

/** Its head is an empty stream: a client that reads one has got nothing yet. */
const behindHead = (course: Omit<Course, 'provider' | 'until'>, ...steps: readonly Step[]): Course => ({
  ...course,
  provider: twice(steps),
  until: 'head',
})
const cut = (row: string, code: 'server_draining' | 'ledger_unavailable'): Course => ({
  ...{ row, ...broken(code), claim: 'not-kept', words: 2 },
  ...{ provider: [MIDDLE], until: 'head' },
})
const unsaid: Expected = { row: ROWS.failed, ...broken('server_is_overloaded'), claim: 'free' }
const disconnected: Omit<Course, 'provider'> = {
  ...{ row: ROWS.disconnectedLater, seen: { kind: 'gone' }, claim: 'free', words: 2 },
  withKey: { row: ROWS.disconnectedWithKey, asIf: ROWS.complete, claim: 'kept' },
}

/** What can only happen to a conversation that is made short: it is told when it is whole, or not at all. */
export const COMPACTION_ENDINGS: readonly Ending[] = [
  {
    name: 'no summary on any lane',
    compacted: { row: ROWS.noSummary, ...refused('server_is_overloaded'), provider: twice(MUTE) },
  },
  {
    name: 'a summary that is cut at the length',
    compacted: {
      ...{ row: ROWS.complete, ...whole },
      provider: [['head', 'role', 'page', 'word', 'length', 'usage', 'done'], WHOLE.stream],
    },
  },
  { name: 'the second lane after one without a summary', compacted: secondAfter(...MUTE) },
  { name: 'the second lane after one that broke off in its summary', compacted: secondAfter(...STARTED, 'reset') },
  { name: 'the second lane after an error in a summary', compacted: secondAfter(...STARTED, 'error') },
  {
    name: 'the second lane after one that fell silent in its summary',
    upstream: 'brief-idle',
    compacted: secondAfter(...STARTED, 'silence'),
  },
  {
    name: 'client gone in the second summary, after a lane without one',
    act: 'the client goes',
    compacted: { ...disconnected, provider: [[...SILENT, 'reset'], MIDDLE], lane: 'second' },
  },
  {
    name: 'client gone after its own head, in the middle of a summary',
    act: 'the client goes',
    hasty: true,
    compacted: { ...disconnected, provider: [MIDDLE], until: 'head' },
  },
  {
    name: 'a whole summary after its own head',
    hasty: true,
    compacted: { row: ROWS.complete, ...whole, provider: [MIDDLE], until: 'head' },
  },
  {
    name: 'no summary after its own head',
    hasty: true,
    compacted: behindHead({ ...unsaid, row: ROWS.noSummary }, 'head', 'role', 'pause', 'stop', 'usage', 'done'),
  },
  {
    name: 'every lane breaks off in its summary, after its own head',
    hasty: true,
    compacted: behindHead(unsaid, ...STARTED, 'pause', 'reset'),
  },
  {
    name: 'the second lane after its own head, and a summary that broke off',
    hasty: true,
    compacted: { ...secondAfter(...STARTED, 'pause', 'reset'), until: 'head' },
  },
  {
    name: 'cut by the stop in the middle of a summary, after its own head',
    act: 'the server cuts',
    hasty: true,
    compacted: cut(ROWS.drainedLater, 'server_draining'),
  },
  {
    name: 'the books are away for too long in the middle of a summary, after its own head',
    act: 'the books are away',
    hasty: true,
    compacted: cut(ROWS.outageLater, 'ledger_unavailable'),
  },
]
