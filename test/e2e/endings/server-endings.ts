import { LAST_WORD } from './client-endings.ts'
import type { Course, Ending, Expected } from './ending.ts'
import { broken, refused, whole } from './provider-endings.ts'
import { type Step, WHOLE } from './provider-steps.ts'
import { ROWS } from './rows.ts'

const BEFORE_HEAD = { json: ['pause', ...WHOLE.json], stream: ['pause', ...WHOLE.stream] } as const
const BEFORE_CONTENT = {
  json: ['head', 'half', 'pause', 'rest'],
  stream: ['head', 'role', 'pause', 'word', 'word', 'word', 'word', 'stop', 'usage', 'done'],
} as const
const MIDDLE: readonly Step[] = ['head', 'role', 'word', 'word', 'pause', 'word', 'word', 'stop', 'usage', 'done']
const AT_END: readonly Step[] = ['head', 'role', 'word', 'word', 'word', 'word', 'stop', 'pause', 'usage', 'done']

type Code = 'server_draining' | 'ledger_unavailable'

/** Cut by ourselves: what was charged is never run again, and its answer is not whole. */
const cut = (row: string, code: Code, words: number): Expected => ({
  row,
  ...broken(code),
  claim: 'not-kept',
  words,
})
const inTheMiddle = (row: string, code: Code): Course => ({
  ...cut(row, code, 2),
  provider: [MIDDLE],
  until: { text: 'morning' },
})
const uncharged = (row: string, code: Code) => ({
  beforeHead: {
    json: { row, ...refused(code), provider: [BEFORE_HEAD.json] },
    stream: { row, ...refused(code), provider: [BEFORE_HEAD.stream] },
  },
  beforeContent: {
    json: { row, ...refused(code), provider: [BEFORE_CONTENT.json] },
    stream: { row, ...refused(code), provider: [BEFORE_CONTENT.stream] },
  },
})

/** A stream that cannot be stored is not begun. A JSON answer is sent all the same: its client had no id before. */
const notStored = { row: ROWS.notStored, ...refused('server_is_overloaded'), stored: 'absent' } as const
const answered = { whenStored: { stored: 'absent' } } as const

const drained = uncharged(ROWS.drainedEarly, 'server_draining')
const outage = uncharged(ROWS.outageEarly, 'ledger_unavailable')

/** The server ends what runs: it stops, or its books cannot be written. */
export const CUT_ENDINGS: readonly Ending[] = [
  { name: 'cut by the stop before the provider’s head', act: 'the server cuts', ...drained.beforeHead },
  { name: 'cut by the stop after the provider’s head', act: 'the server cuts', ...drained.beforeContent },
  {
    name: 'cut by the stop after its own head, before the provider’s',
    act: 'the server cuts',
    hasty: true,
    stream: {
      ...{ row: ROWS.drainedEarly, ...broken('server_draining'), claim: 'free' },
      ...{ provider: [BEFORE_HEAD.stream], until: 'head' },
    },
  },
  {
    name: 'cut by the stop after its own head, before content',
    act: 'the server cuts',
    hasty: true,
    stream: {
      ...cut(ROWS.drainedLater, 'server_draining', 0),
      ...{ provider: [BEFORE_CONTENT.stream], until: 'head' },
    },
  },
  {
    name: 'cut by the stop in the middle',
    act: 'the server cuts',
    stream: inTheMiddle(ROWS.drainedLater, 'server_draining'),
  },
  {
    name: 'cut by the stop after the finish reason, before the usage',
    act: 'the server cuts',
    countsApart: true,
    stream: { ...cut(ROWS.drainedLater, 'server_draining', 4), provider: [AT_END], until: LAST_WORD },
    collected: { row: ROWS.drainedEarly, ...refused('server_draining'), provider: [AT_END] },
  },
  {
    name: 'every lane fails after its own head',
    hasty: true,
    stream: {
      ...{ row: ROWS.failed, ...broken('server_is_overloaded'), claim: 'free' },
      ...{ provider: [['pause', 'reset']], until: 'head' },
    },
  },
  {
    name: 'the hold cannot be written',
    before: 'no hold can be written',
    json: { row: ROWS.notHeld, ...refused('ledger_unavailable'), provider: [WHOLE.json] },
    stream: { row: ROWS.notHeld, ...refused('ledger_unavailable'), provider: [WHOLE.stream] },
  },
  {
    name: 'the response cannot be stored',
    before: 'no response can be stored',
    json: { row: ROWS.complete, ...whole, provider: [WHOLE.json], ...answered },
    stream: { row: ROWS.complete, ...whole, provider: [WHOLE.stream], whenStored: notStored },
    compacted: { row: ROWS.complete, ...whole, provider: [WHOLE.stream], ...answered },
  },
  {
    name: 'the charge cannot be written for a while',
    act: 'no charge can be written',
    json: { row: ROWS.complete, ...whole, provider: [BEFORE_CONTENT.json] },
    stream: { row: ROWS.complete, ...whole, provider: [MIDDLE], until: { text: 'morning' } },
  },
  {
    name: 'a release cannot be written for a while',
    act: 'no charge can be written',
    json: { row: ROWS.failed, ...refused('server_is_overloaded'), provider: [['head', 'half', 'pause', 'reset']] },
    stream: { row: ROWS.failed, ...refused('server_is_overloaded'), provider: [['head', 'role', 'pause', 'reset']] },
  },
  {
    name: 'the books are away for too long before its own head',
    act: 'the books are away',
    ...outage.beforeContent,
  },
  {
    name: 'the books are away for too long in the middle',
    act: 'the books are away',
    stream: inTheMiddle(ROWS.outageLater, 'ledger_unavailable'),
  },
]

const everywhere = (course: Expected): Pick<Ending, 'json' | 'stream'> => ({
  json: { ...course, provider: [WHOLE.json] },
  stream: { ...course, provider: [WHOLE.stream] },
})
const denied = (code: Parameters<typeof refused>[0]) => everywhere({ row: ROWS.refused, ...refused(code) })

/** Refused before it began: no receipt, and nothing that the key would remember. */
export const REFUSED_ENDINGS: readonly Ending[] = [
  { name: 'a field of the wrong type', sends: { temperature: 'hot' }, ...denied('invalid_type') },
  { name: 'a model that there is not', sends: { model: 'nobody' }, ...denied('model_not_found') },
  {
    name: 'no money, no plan',
    before: 'no money, no plan',
    ...everywhere({
      ...{ row: ROWS.refused, ...refused('insufficient_balance') },
      asBuilder: refused('subscription_inactive'),
    }),
  },
  { name: 'too large for its limit', before: 'a limit of few tokens', ...denied('request_too_large_for_limit') },
  { name: 'one request a minute, and it has been', before: 'a limit of one request', ...denied('rate_limit_exceeded') },
  { name: 'a key that is disabled', before: 'the key is disabled', ...denied('invalid_api_key') },
  { name: 'an account that is suspended', before: 'the account is suspended', ...denied('account_suspended') },
  { name: 'an account whose books do not add up', before: 'the account is frozen', ...denied('ledger_unavailable') },
  {
    name: 'the key stands for another body',
    before: 'the key stands for another body',
    keyedOnly: true,
    ...everywhere({ row: ROWS.refused, seen: { kind: 'refused', code: 'idempotency_key_reused' }, claim: 'another' }),
  },
  {
    name: 'given again',
    before: 'the same request has ended',
    keyedOnly: true,
    // What is stored is the first one's.
    ...everywhere({ row: ROWS.isReplayable, ...whole, stored: 'absent' }),
  },
]

const changed = (act: NonNullable<Ending['act']>): Pick<Ending, 'act' | 'json' | 'stream'> => ({
  act,
  json: { row: ROWS.changed, ...whole, provider: [BEFORE_CONTENT.json] },
  stream: { row: ROWS.changed, ...whole, provider: [MIDDLE], until: { text: 'morning' } },
})

/** What was allowed when it came finishes, whatever becomes of who asked. */
export const CHANGED_ENDINGS: readonly Ending[] = [
  { name: 'its key is disabled meanwhile', ...changed('the key is disabled') },
  { name: 'its account is suspended meanwhile', ...changed('the account is suspended') },
  { name: 'its account is frozen meanwhile', ...changed('the account is frozen') },
  { name: 'its plan ends meanwhile', ...changed('the plan ends') },
  { name: 'its window ends meanwhile', ...changed('the window ends') },
  {
    name: 'its key is sent again meanwhile',
    act: 'the same is asked again',
    keyedOnly: true,
    json: { row: ROWS.complete, ...whole, provider: [BEFORE_CONTENT.json] },
    stream: { row: ROWS.complete, ...whole, provider: [MIDDLE], until: { text: 'morning' } },
  },
]
