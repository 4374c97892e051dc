import { readEnding, writeEnding } from '../model/ending.ts'
import type { RequestId } from '../model/ids.ts'
import type { SettleJournal } from '../store/settle-journal.ts'
import type { LedgerCore } from './core.ts'
import { recordEnd, type TurnEnd } from './record-end.ts'

/**
 * Ends of turns that could not be recorded in the books, and are on the disk beside them instead. As soon as the books
 * can be written again they are recorded, before anybody else may end the same turn by a guess.
 */
export interface JournaledEnds {
  /** True when the end is durable: the client may be told. */
  write(end: TurnEnd): Promise<boolean>
  /** Records what is waiting. True when nothing is left. */
  replay(core: LedgerCore): Promise<boolean>
  /** How this turn ended is known: nobody has to guess. */
  has(requestId: RequestId): boolean
}

export async function openJournaledEnds(journal: SettleJournal): Promise<JournaledEnds> {
  const waiting = new Map<RequestId, TurnEnd>()
  for (const record of await journal.read()) keep(waiting, decode(record))
  let replaying: Promise<unknown> = Promise.resolve()

  const replay = async (core: LedgerCore): Promise<boolean> => {
    const recorded = [...waiting.values()].map(async (end) => {
      // One that is not open was recorded after all, before the crash.
      if ((await recordEnd(core, end)).kind !== 'lost') waiting.delete(end.requestId)
    })
    await Promise.all(recorded)
    // What stays on the disk is found recorded when it is read again: no reason to keep the books shut.
    await journal.clear(() => waiting.size > 0).catch(() => {})
    return waiting.size === 0
  }

  return {
    async write(end) {
      if (!(await journal.append(encode(end)))) return false
      keep(waiting, end)
      return true
    },
    replay(core) {
      // One after another: a second one would find turns ended whose end is not durable yet. One that failed is over.
      const mine = replaying.then(() => replay(core))
      replaying = mine.catch(() => {})
      return mine
    },
    has: (requestId) => waiting.has(requestId),
  }
}

const keep = (waiting: Map<RequestId, TurnEnd>, end: TurnEnd): void => void waiting.set(end.requestId, end)

/** The id has no space. */
const encode = ({ requestId, ending }: TurnEnd): string => `${requestId} ${writeEnding(ending)}`

function decode(record: string): TurnEnd {
  const space = record.indexOf(' ')
  return { requestId: record.slice(0, space) as RequestId, ending: readEnding(record.slice(space + 1)) }
}
