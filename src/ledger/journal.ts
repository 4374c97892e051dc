import type { SettleJournal } from '../db/settle-journal.ts'
import { readEnding, writeEnding } from '../model/ending.ts'
import type { RequestId } from '../model/ids.ts'
import type { CloseTurn } from './state/turns.ts'

export type TurnEnd = Omit<CloseTurn, 'at' | 'nowMicros'>

/**
 * Ends of turns that could not be recorded in the ledger and lie in a journal file beside it. They are recorded as soon as
 * the ledger can be written again, before recovery may end the same turns by an estimate.
 */
export interface JournaledEnds {
  /** True when the end is durable and may be sent to the client. */
  write(end: TurnEnd): Promise<boolean>
  /** Records the waiting ends. False when one was lost again; true when the rest waits only for frozen accounts. */
  replay(record: RecordEnd): Promise<boolean>
  readonly isEmpty: boolean
  /** Whether the end of this turn is known, so that recovery must not estimate it. */
  has(requestId: RequestId): boolean
}

/** The table of ends that wait for their account to balance again. */
export interface WaitingEnds {
  read(): Promise<string[]>
  add(requestIds: readonly RequestId[], records: readonly string[]): Promise<void>
  remove(requestIds: readonly RequestId[]): Promise<void>
}

/** Ends a turn in the ledger; `lost` when that could not be written, `broken` when the account does not balance. */
type RecordEnd = (end: TurnEnd) => Promise<{ readonly kind: 'recorded' | 'not-open' | 'lost' | 'broken' }>

export async function openJournaledEnds(journal: SettleJournal, table: WaitingEnds): Promise<JournaledEnds> {
  const waiting = new Map<RequestId, TurnEnd>()
  /** Those of `waiting` that lie in the table. */
  const inTable = new Set<RequestId>()
  for (const record of await table.read()) {
    const end = decode(record)
    waiting.set(end.requestId, end)
    inTable.add(end.requestId)
  }
  for (const record of await journal.read()) {
    const end = decode(record)
    waiting.set(end.requestId, end)
  }
  let replaying: Promise<unknown> = Promise.resolve()
  /** Ends that are being appended: the journal may have them before `waiting` does. */
  let writing = 0

  const recordWaiting = async (record: RecordEnd) => {
    const stuck: TurnEnd[] = []
    const kinds = await Promise.all(
      [...waiting.values()].map(async (end) => {
        const { kind } = await record(end)
        // A turn that is not open was recorded before the crash after all.
        if (kind === 'recorded' || kind === 'not-open') waiting.delete(end.requestId)
        if (kind === 'broken' && !inTable.has(end.requestId)) stuck.push(end)
        return kind
      }),
    )
    // What stays in the journal is found recorded when it is read again: no reason to keep the gate shut.
    await clearJournal(stuck).catch(() => {})
    return kinds
  }

  /** Stuck ends move to the table, or the journal could not be cleared and would fill up. */
  const clearJournal = async (stuck: readonly TurnEnd[]) => {
    if (stuck.length > 0) {
      await table.add(
        stuck.map(({ requestId }) => requestId),
        stuck.map(encode),
      )
      for (const { requestId } of stuck) inTable.add(requestId)
    }
    await journal.clear(() => writing > 0 || [...waiting.keys()].some((requestId) => !inTable.has(requestId)))
    const over = [...inTable].filter((requestId) => !waiting.has(requestId))
    if (over.length === 0) return
    await table.remove(over)
    for (const requestId of over) inTable.delete(requestId)
  }

  const replay = async (record: RecordEnd): Promise<boolean> => {
    for (;;) {
      const kinds = await recordWaiting(record)
      if (kinds.includes('lost')) return false
      // The end of an account that does not balance waits until it does, without delaying the others.
      const stuck = kinds.filter((kind) => kind === 'broken').length
      if (waiting.size === stuck) return true
      // More turns have ended meanwhile and were written to the journal.
    }
  }

  return {
    async write(end) {
      writing += 1
      try {
        if (!(await journal.append(encode(end)))) return false
        waiting.set(end.requestId, end)
        return true
      } finally {
        writing -= 1
      }
    },
    replay(record) {
      // One after another: a second replay would find turns closed whose end is not durable yet.
      const mine = replaying.then(() => replay(record))
      replaying = mine.catch(() => {})
      return mine
    },
    has: (requestId) => waiting.has(requestId),
    get isEmpty() {
      return waiting.size === 0
    },
  }
}

/** A request id contains no space. */
const encode = ({ requestId, ending }: TurnEnd): string => `${requestId} ${writeEnding(ending)}`

function decode(record: string): TurnEnd {
  const space = record.indexOf(' ')
  if (space < 0) throw new Error('settles.journal has a record in a form that this version does not read')
  return { requestId: record.slice(0, space) as RequestId, ending: readEnding(record.slice(space + 1)) }
}
