import type { SettleJournal } from '../db/settle-journal.ts'
import { readEnding, writeEnding } from '../model/ending.ts'
import type { RequestId } from '../model/ids.ts'
import type { CloseTurn } from './state/close-turn.ts'

/** How a turn ended, as the books take it. When that is recorded is known only when it is. */
export type TurnEnd = Omit<CloseTurn, 'at' | 'nowMicros'>

/**
 * Ends of turns that could not be recorded in the books, and are on the disk beside them instead. As soon as the books
 * can be written again they are recorded, before anybody else may end the same turn by a guess.
 */
export interface JournaledEnds {
  /** True when the end is durable: the client may be told. */
  write(end: TurnEnd): Promise<boolean>
  /** Has what is waiting recorded in the books. True when nothing is left that could be; false when one was lost again. */
  replay(record: RecordEnd): Promise<boolean>
  /** Whether ends are waiting, be it for an account that does not add up. */
  readonly isEmpty: boolean
  /** How this turn ended is known: nobody has to guess. */
  has(requestId: RequestId): boolean
}

/** Ends that wait for their account to add up again, kept with the ledger. */
export interface ShelvedEnds {
  read(): Promise<string[]>
  add(requestIds: readonly RequestId[], records: readonly string[]): Promise<void>
  remove(requestIds: readonly RequestId[]): Promise<void>
}

/** Ends a turn in the books; `lost` when that could not be written. */
type RecordEnd = (end: TurnEnd) => Promise<{ readonly kind: 'recorded' | 'not-open' | 'lost' | 'broken' }>

export async function openJournaledEnds(journal: SettleJournal, shelved: ShelvedEnds): Promise<JournaledEnds> {
  const waiting = new Map<RequestId, TurnEnd>()
  const isCached = new Set<RequestId>()
  for (const record of await shelved.read()) {
    const end = decode(record)
    keep(waiting, end)
    isCached.add(end.requestId)
  }
  for (const record of await journal.read()) keep(waiting, decode(record))
  let replaying: Promise<unknown> = Promise.resolve()
  /** Ends that are on their way into the journal: it may have them, while nobody here knows of them yet. */
  let writing = 0

  const recordWaiting = async (record: RecordEnd) => {
    const stuck: TurnEnd[] = []
    const kinds = await Promise.all(
      [...waiting.values()].map(async (end) => {
        const { kind } = await record(end)
        // One that is not open was recorded after all, before the crash.
        if (kind === 'recorded' || kind === 'not-open') waiting.delete(end.requestId)
        if (kind === 'broken' && !isCached.has(end.requestId)) stuck.push(end)
        return kind
      }),
    )
    // What stays on the disk is found recorded when it is read again: no reason to keep the books shut.
    await clearJournal(stuck).catch(() => {})
    return kinds
  }

  /** An end that cannot be recorded yet moves to the ledger, or it would keep the journal from being cleared until it is full. */
  const clearJournal = async (stuck: readonly TurnEnd[]) => {
    if (stuck.length > 0) {
      await shelved.add(
        stuck.map(({ requestId }) => requestId),
        stuck.map(encode),
      )
      for (const { requestId } of stuck) isCached.add(requestId)
    }
    await journal.clear(() => writing > 0 || [...waiting.keys()].some((requestId) => !isCached.has(requestId)))
    const over = [...isCached].filter((requestId) => !waiting.has(requestId))
    if (over.length === 0) return
    await shelved.remove(over)
    for (const requestId of over) isCached.delete(requestId)
  }

  const replay = async (record: RecordEnd): Promise<boolean> => {
    for (;;) {
      const kinds = await recordWaiting(record)
      if (kinds.includes('lost')) return false
      // That of an account which does not add up stays on the disk until it does, and keeps nobody else waiting.
      const stuck = kinds.filter((kind) => kind === 'broken').length
      if (waiting.size === stuck) return true
      // Others were written down meanwhile: turns go on to end while nobody may end them in the books.
    }
  }

  return {
    async write(end) {
      writing += 1
      try {
        if (!(await journal.append(encode(end)))) return false
        keep(waiting, end)
        return true
      } finally {
        writing -= 1
      }
    },
    replay(record) {
      // One after another: a second one would find turns ended whose end is not durable yet. One that failed is over.
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

const keep = (waiting: Map<RequestId, TurnEnd>, end: TurnEnd): void => void waiting.set(end.requestId, end)

/** The id has no space. */
const encode = ({ requestId, ending }: TurnEnd): string => `${requestId} ${writeEnding(ending)}`

function decode(record: string): TurnEnd {
  const space = record.indexOf(' ')
  if (space < 0) throw new Error('An end in settles.journal has a form that this version does not read')
  return { requestId: record.slice(0, space) as RequestId, ending: readEnding(record.slice(space + 1)) }
}
