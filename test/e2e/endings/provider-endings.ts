import type { Course, Ending, Expected, Seen } from './ending.ts'
import { type Step, WHOLE } from './provider-steps.ts'
import { ROWS } from './rows.ts'

export const whole: Pick<Expected, 'seen' | 'claim'> = { seen: { kind: 'whole' }, claim: 'kept' }
export const refused = (code: Extract<Seen, { code: unknown }>['code']): Pick<Expected, 'seen' | 'claim'> => ({
  seen: { kind: 'refused', code },
  claim: 'free',
})
export const broken = (code: Extract<Seen, { code: unknown }>['code']): Pick<Expected, 'seen' | 'claim'> => ({
  seen: { kind: 'broken', code },
  claim: 'kept',
})

/** The same provider twice: there is no lane that does better. */
const twice = (...steps: Step[]): readonly (readonly Step[])[] => [steps, steps]

const everywhere = (course: Omit<Course, 'provider'>, ...steps: Step[]): Pick<Ending, 'json' | 'stream'> => ({
  json: { ...course, provider: twice(...steps) },
  stream: { ...course, provider: twice(...steps) },
})

const reported = (row: string, usage: unknown, zero = false): Pick<Ending, 'json' | 'stream'> => ({
  json: { row, zero, provider: [['head', { usage }, 'half', 'rest']], ...whole },
  stream: {
    row,
    zero,
    provider: [['head', 'role', 'word', 'word', 'word', 'word', 'stop', { usage }, 'done']],
    ...whole,
  },
})

const STARTED = ['head', 'role', 'word', 'word'] as const satisfies readonly Step[]
const FINISHED = ['head', 'role', 'word', 'word', 'word', 'word', 'stop'] as const satisfies readonly Step[]

const brokeOff = (code: 'upstream_error' | 'upstream_timeout', ...steps: Step[]): Course => ({
  row: ROWS.brokeOff,
  provider: [[...STARTED, ...steps], WHOLE.stream],
  words: 2,
  ...broken(code),
})

/** Lanes are tried in turn: the one charge is for the one that delivered. */
const failover = (...steps: Step[]): Pick<Ending, 'json' | 'stream'> => ({
  json: { row: ROWS.failover, provider: [steps, WHOLE.json], lane: 'second', ...whole },
  stream: { row: ROWS.failover, provider: [steps, WHOLE.stream], lane: 'second', ...whole },
})

const failed = (code: Parameters<typeof refused>[0]) => ({ row: ROWS.failed, ...refused(code) })
/** Nothing of a JSON answer has gone out when its provider breaks off, whatever has been read of it. */
const brokenUnsaid = (code: 'server_is_overloaded' | 'upstream_timeout', ...steps: Step[]): Course => ({
  ...failed(code),
  provider: twice(...STARTED, ...steps),
})
const uncountedEnd = (...steps: Step[]): Course => ({
  row: ROWS.countsMissing,
  provider: [[...FINISHED, ...steps]],
  ...whole,
})
const DEAR = { prompt_tokens: 40, completion_tokens: 1500, total_tokens: 1540 }
const countedInVain: Course = {
  row: ROWS.failover,
  provider: [['head', 'role', { usage: DEAR }, 'reset'], WHOLE.stream],
  lane: 'second',
  ...whole,
}

/** What the provider does, for good and ill. */
export const PROVIDER_ENDINGS: readonly Ending[] = [
  {
    name: 'completed',
    json: { row: ROWS.complete, provider: [WHOLE.json], ...whole },
    stream: { row: ROWS.complete, provider: [WHOLE.stream], ...whole },
  },
  {
    name: 'completed, cut at the length',
    json: {
      ...{ row: ROWS.complete, provider: [['head', { finish: 'length' }, 'half', 'rest']], ...whole },
      stored: 'incomplete',
    },
    stream: {
      row: ROWS.complete,
      provider: [['head', 'role', 'word', 'word', 'word', 'word', 'length', 'usage', 'done']],
      ...whole,
      stored: 'incomplete',
    },
    // What is cut after four words is no summary.
    compacted: {
      ...{ row: ROWS.noSummary, ...refused('server_is_overloaded') },
      provider: twice('head', 'role', 'word', 'word', 'word', 'word', 'length', 'usage', 'done'),
    },
  },
  { name: 'usage absent', ...reported(ROWS.uncounted, null) },
  { name: 'usage negative', ...reported(ROWS.uncounted, { prompt_tokens: -11, completion_tokens: -7 }) },
  { name: 'usage zero', ...reported(ROWS.complete, { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, true) },
  { name: 'usage beyond the hold', ...reported(ROWS.beyondHold, { prompt_tokens: 5_000_000, completion_tokens: 7 }) },
  { name: 'usage huge', ...reported(ROWS.tooMuch, { prompt_tokens: 9e15, completion_tokens: 1e300 }) },
  {
    name: 'broken after the finish reason, before the usage',
    countsApart: true,
    stream: uncountedEnd('reset'),
    collected: uncountedEnd('reset'),
  },
  {
    name: 'silent after the finish reason',
    countsApart: true,
    upstream: 'brief-idle',
    stream: uncountedEnd('silence'),
    collected: uncountedEnd('silence'),
  },
  {
    name: 'broken after the last word, before the finish reason',
    stream: { ...brokeOff('upstream_error', 'word', 'word', 'item-end', 'reset'), words: 4 },
    collected: brokenUnsaid('server_is_overloaded', 'word', 'word', 'item-end', 'reset'),
  },
  {
    name: 'provider says 400',
    ...everywhere({ row: ROWS.rejected, ...refused('upstream_rejected') }, { status: 400 }),
  },
  { name: 'provider says 401', ...everywhere(failed('provider_misconfigured'), { status: 401 }) },
  { name: 'provider says 404', ...everywhere(failed('provider_misconfigured'), { status: 404 }) },
  { name: 'provider says 429', ...everywhere(failed('upstream_busy'), { status: 429 }) },
  { name: 'provider says 500', ...everywhere(failed('server_is_overloaded'), { status: 500 }) },
  { name: 'provider says 503', ...everywhere(failed('server_is_overloaded'), { status: 503 }) },
  { name: 'nothing listens', upstream: 'deaf', ...everywhere(failed('server_is_overloaded'), 'silence') },
  { name: 'broken before the head', ...everywhere(failed('server_is_overloaded'), 'reset') },
  { name: 'broken after the head', ...everywhere(failed('server_is_overloaded'), 'head', 'reset') },
  {
    name: 'no first byte in time',
    upstream: 'brief-first-byte',
    stream: { ...failed('upstream_timeout'), provider: twice('silence') },
    collected: { ...failed('upstream_timeout'), provider: twice('silence') },
  },
  {
    name: 'no answer within the whole time',
    upstream: 'brief-total',
    ...everywhere(failed('upstream_timeout'), 'head', 'pings'),
  },
  {
    name: 'broken in the middle',
    json: { ...failed('server_is_overloaded'), provider: twice('head', 'half', 'reset') },
    stream: brokeOff('upstream_error', 'reset'),
  },
  {
    name: 'an error after content',
    stream: brokeOff('upstream_error', 'error'),
    collected: brokenUnsaid('server_is_overloaded', 'error'),
  },
  {
    name: 'silent in the middle',
    upstream: 'brief-idle',
    json: { ...failed('upstream_timeout'), provider: twice('head', 'half', 'silence') },
    stream: brokeOff('upstream_timeout', 'silence'),
  },
  {
    name: 'signs of life only, in the middle',
    upstream: 'brief-no-progress',
    stream: brokeOff('upstream_timeout', 'pings'),
    collected: brokenUnsaid('upstream_timeout', 'pings'),
  },
  {
    name: 'the whole time over in the middle',
    upstream: 'brief-total',
    json: { ...failed('upstream_timeout'), provider: twice('head', 'half', 'pings') },
    stream: brokeOff('upstream_timeout', 'pings'),
  },
  { name: 'the second lane after a 503', ...failover({ status: 503 }) },
  { name: 'the second lane after a broken connection', ...failover('reset') },
  {
    name: 'the second lane after one that broke off in an answer of which nothing had gone out',
    json: { row: ROWS.failover, provider: [['head', 'half', 'reset'], WHOLE.json], lane: 'second', ...whole },
  },
  {
    name: 'the second lane after one that has counted much and said nothing',
    stream: countedInVain,
    collected: countedInVain,
  },
]
