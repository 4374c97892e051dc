import { WORDS } from '../../fakes/chat-frames.ts'
import { RUN_BUDGET } from './charges-page.ts'
import type { Course, Ending } from './ending.ts'
import { type Step, WHOLE } from './provider-steps.ts'
import { ROWS } from './rows.ts'

const HEAD = ['head'] as const satisfies readonly Step[]
const REST: readonly Step[] = ['word', 'word', 'word', 'word', 'stop', 'usage', 'done']
const first = (words: number): readonly Step[] => ['head', 'role', ...Array<'word'>(words).fill('word')]
const rest = (words: number): readonly Step[] => REST.slice(words)

/** The finish reason waits for what comes behind it. */
export const LAST_WORD = { text: WORDS[3] } as const

/** Without a key the turn ends with its client; with one it takes the course that it would have taken with it. */
const disconnected = (row: string, course: Pick<Course, 'provider' | 'until' | 'words'>): Course => ({
  row,
  seen: { kind: 'gone' },
  claim: 'free',
  words: 0,
  ...course,
  withKey: { row: ROWS.disconnectedWithKey, asIf: ROWS.complete, claim: 'kept' },
})

/** Of a JSON answer that is made of a stream so much has been read. */
const collected = (words: number): Course =>
  disconnected(ROWS.disconnectedLater, { provider: [[...first(words), 'pause', ...rest(words)]], words })
const atEnd = (...steps: Step[]): Course =>
  disconnected(ROWS.disconnectedAtEnd, { provider: [[...first(4), 'stop', 'pause', ...steps]], words: 4 })
const uncounted: Course = {
  ...atEnd('reset'),
  row: ROWS.countsMissing,
  withKey: { row: ROWS.disconnectedWithKey, asIf: ROWS.countsMissing, claim: 'kept' },
}
const streamed = (words: number, text: string): Course =>
  disconnected(ROWS.disconnectedLater, {
    provider: [[...first(words), 'pause', ...rest(words)]],
    until: { text },
    words,
  })

/** In the background a turn takes the course that it would have taken with its client, with a key or without. */
const MIDDLE: Pick<Course, 'provider' | 'until'> = {
  provider: [[...first(2), 'pause', ...rest(2)]],
  until: { text: 'morning' },
}

/** When the client hangs up. */
export const CLIENT_ENDINGS: readonly Ending[] = [
  {
    name: 'client gone before the provider’s head',
    act: 'the client goes',
    json: disconnected(ROWS.disconnectedEarly, { provider: [['pause', ...WHOLE.json]] }),
    stream: disconnected(ROWS.disconnectedEarly, { provider: [['pause', ...WHOLE.stream]] }),
  },
  {
    name: 'client gone after the provider’s head, before content',
    act: 'the client goes',
    json: disconnected(ROWS.disconnectedLater, { provider: [['head', 'half', 'pause', 'rest']] }),
    collected: collected(0),
    stream: disconnected(ROWS.disconnectedLater, { provider: [[...first(0), 'pause', ...rest(0)]] }),
  },
  {
    name: 'client gone after its own head, before the provider’s',
    act: 'the client goes',
    hasty: true,
    stream: disconnected(ROWS.disconnectedEarly, { provider: [['pause', ...WHOLE.stream]], until: 'head' }),
  },
  {
    name: 'client gone after its own head, before content',
    act: 'the client goes',
    hasty: true,
    stream: disconnected(ROWS.disconnectedLater, { provider: [[...HEAD, 'role', 'pause', ...rest(0)]], until: 'head' }),
  },
  {
    name: 'client gone at the first content',
    act: 'the client goes',
    stream: streamed(1, 'Good '),
    collected: collected(1),
  },
  { name: 'client gone in the middle', act: 'the client goes', stream: streamed(3, ' to'), collected: collected(3) },
  {
    name: 'client gone after the last word, before the finish reason',
    act: 'the client goes',
    stream: {
      ...disconnected(ROWS.disconnectedLater, { provider: [[...first(4), 'item-end', 'pause', ...rest(4)]], words: 4 }),
      until: { text: ' you' },
    },
    collected: disconnected(ROWS.disconnectedLater, {
      provider: [[...first(4), 'item-end', 'pause', ...rest(4)]],
      words: 4,
    }),
  },
  {
    name: 'client gone after the finish reason, before the usage',
    act: 'the client goes at the end',
    countsApart: true,
    stream: { ...atEnd('usage', 'done'), until: LAST_WORD },
    collected: atEnd('usage', 'done'),
  },
  {
    name: 'client gone after the finish reason, and the provider too',
    act: 'the client goes at the end',
    countsApart: true,
    stream: { ...uncounted, until: LAST_WORD },
    collected: uncounted,
  },
  {
    name: 'client gone, in the background',
    act: 'the client goes and the turn stays',
    sends: { background: true },
    streamedResponseOnly: true,
    stream: {
      ...{ ...MIDDLE, row: ROWS.disconnectedInBackground, asIf: ROWS.complete },
      ...{ seen: { kind: 'gone' }, claim: 'kept' },
    },
  },
  {
    name: 'cancelled in the background',
    act: 'the response is cancelled',
    sends: { background: true },
    streamedResponseOnly: true,
    stream: {
      ...{ ...MIDDLE, row: ROWS.cancelled, words: 2, stored: 'cancelled' },
      ...{ seen: { kind: 'broken', code: 'response_cancelled' }, claim: 'not-kept' },
    },
  },
  {
    name: 'followed by others while it runs',
    act: 'others follow it',
    streamedResponseOnly: true,
    stream: { ...MIDDLE, row: ROWS.complete, seen: { kind: 'whole' }, claim: 'kept' },
  },
  {
    name: 'attached to by another client, and the first one gone',
    act: 'another client attaches and the first one goes',
    keyedOnly: true,
    stream: { ...MIDDLE, row: ROWS.attached, asIf: ROWS.complete, seen: { kind: 'gone' }, claim: 'kept' },
  },
  {
    name: 'cut where the budget of its run ends',
    act: 'the run has less left than the model may write',
    headers: { 'x-millrace-run': `task; max=${RUN_BUDGET}` },
    stream: {
      ...{ row: ROWS.budget, seen: { kind: 'whole' }, claim: 'kept', stored: 'incomplete' },
      ...{ provider: [[...first(2), 'pause', 'word', 'word', 'length', 'usage', 'done']], until: { text: 'morning' } },
    },
  },
  {
    name: 'client gone, and the provider breaks off',
    act: 'the client goes',
    stream: {
      ...disconnected(ROWS.disconnectedLater, {
        provider: [[...first(2), 'pause', 'reset']],
        until: { text: 'morning' },
        words: 2,
      }),
      withKey: { row: ROWS.disconnectedWithKey, asIf: ROWS.brokeOff, claim: 'kept' },
    },
    collected: {
      ...disconnected(ROWS.disconnectedLater, { provider: [[...first(2), 'pause', 'reset']], words: 2 }),
      withKey: { row: ROWS.disconnectedWithKey, asIf: ROWS.failed, claim: 'free' },
    },
  },
]
