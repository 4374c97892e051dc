import type { ReceiptsTable } from '../../../src/db/tables.ts'
import { publishedCharge } from './charges-page.ts'
import type { ClaimAfter, Expected, Seen, StoredAs } from './ending.ts'
import { claimOf, faultsInLedger } from './ledger-rows.ts'
import { bodyOf, type Participant, type RequestInput } from './participants.ts'
import type { StageContext } from './preparations.ts'
import { faultsOfStored, type StoredRow, storedAfter } from './stored-responses.ts'

/** What came of one cell, or has to. */
export interface Verdict {
  /** State and outcome of every receipt: there is exactly one, or none. */
  readonly receipts: readonly string[]
  readonly charges: readonly (bigint | null)[]
  /** Whether the receipt says that its numbers are estimates. */
  readonly flagged: readonly (boolean | undefined)[]
  readonly lanes: readonly string[]
  readonly seen: Seen
  /** The charge that a whole answer has told, if it was another one than the receipt's. */
  readonly deliveredOtherwise: boolean
  readonly claim: ClaimAfter
  /** What became of the response that its account may ask for. */
  readonly stored: readonly string[]
  readonly faults: string[]
  again: string
}

export interface Judged {
  readonly expected: Record<string, Verdict>
  readonly found: Record<string, Verdict>
}

export function courseOf({ column, played: { course } }: StageContext, who: Participant): Expected {
  return {
    ...course,
    ...(who.kind === 'builder' ? course.asBuilder : {}),
    ...(column.stores ? course.whenStored : {}),
    ...(column.delivery === 'stream' ? course.whenStreamed : {}),
    ...(who.idempotencyKey === undefined ? {} : course.withKey),
  }
}

export function expectedOf(stageContext: StageContext, who: Participant): Verdict {
  const { column, played } = stageContext
  const course = courseOf(stageContext, who)
  const published = publishedCharge(course, {
    column,
    receivedRequest: who.words,
    body: bodyOf(column, played, who.words),
    words: course.words ?? 4,
    zero: course.zero ?? false,
    marked: course.marked,
  })
  const { outcome, nano, flagged } = published
  const state = flagged === undefined ? 'released' : 'settled'
  const there = outcome !== undefined
  return {
    receipts: there ? [`${state} ${outcome}`] : [],
    charges: there ? [nano] : [],
    flagged: there ? [flagged] : [],
    lanes: there ? [course.lane ?? 'first'] : [],
    seen: course.seen,
    deliveredOtherwise: false,
    claim: who.idempotencyKey === undefined ? 'free' : course.claim,
    stored: statesOf(storedAfter(column, course)),
    faults: [],
    again: '',
  }
}

const statesOf = (stored: StoredAs): string[] => (stored === 'absent' ? [] : [stored])

interface Outcome {
  readonly receipts: readonly ReceiptsTable[]
  /** Those that this request has left. */
  readonly responses: readonly StoredRow[]
  readonly requesting: RequestInput
}

export async function foundOf(
  stageContext: StageContext,
  who: Participant,
  { receipts, responses, requesting }: Outcome,
): Promise<Verdict> {
  const { db } = stageContext.server.app.operations
  const reported = requesting.disconnected ? undefined : stageContext.column.understand(requesting.received)
  const [receipt] = receipts
  return {
    receipts: receipts.map(({ state, outcome }) => `${state} ${outcome}`),
    charges: receipts.map(({ charge_nano }) => charge_nano),
    flagged: receipts.map(({ estimated }) => (estimated === null ? undefined : estimated === 1)),
    lanes: receipts.map(({ lane }) => laneWord(lane, stageContext)),
    seen: reported ? reported.seen : { kind: 'gone' },
    deliveredOtherwise:
      receipt !== undefined && reported?.charge !== undefined && reported.charge !== receipt.charge_nano,
    claim: claimWord(await claimOf(db, who.account.id), stageContext),
    stored: responses.map(({ status }) => status),
    faults: [...(await faultsInLedger(db, who)), ...(await faultsOfStored(stageContext, who, requesting))],
    again: '',
  }
}

/** Where all lanes do the same, the last one is the one that counts. */
function laneWord(lane: string | null, { played: { course } }: StageContext): string {
  const at = Number(lane?.split('.').at(-1) ?? 0)
  return course.lane === undefined && course.seen.kind !== 'whole' ? 'first' : (['first', 'second'][at] ?? `${lane}`)
}

const claimWord = (claim: ClaimAfter | 'running', { played }: StageContext): ClaimAfter =>
  claim === 'kept' && played.course.claim === 'another' ? 'another' : (claim as ClaimAfter)
