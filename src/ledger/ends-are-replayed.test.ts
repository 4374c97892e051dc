import { expect, it } from 'vitest'
import { settlement } from '../model/ending.fixture.ts'
import type { RequestId } from '../model/ids.ts'
import type { SettleJournal } from '../store/settle-journal.ts'
import { openJournaledEnds } from './journaled-ends.ts'

const REQUEST = 'req_1' as RequestId

/** A journal on no disk. */
function journalInMemory(): SettleJournal {
  let records: string[] = []
  return {
    append: async (record) => records.push(record) > 0,
    read: async () => records,
    async clear(stillNeeded) {
      if (!stillNeeded()) records = []
    },
    close: async () => {},
  }
}

type Recorded = 'recorded' | 'not-open' | 'lost' | 'broken'

/** What becomes of an end that was written down when the books say this of it: done, still known, and still on the disk. */
async function replayed(kind: Recorded) {
  const journal = journalInMemory()
  const ends = await openJournaledEnds(journal)
  await ends.write({ requestId: REQUEST, ending: settlement(1000n) })
  const done = await ends.replay(async () => ({ kind }))
  return [done, ends.has(REQUEST), (await journal.read()).length]
}

it.each([
  ['is done with when it is in the books', 'recorded', [true, false, 0]],
  ['is done with when it was in the books already', 'not-open', [true, false, 0]],
  ['is kept, and tried again, when the commit was lost', 'lost', [false, true, 1]],
  ['is kept until its account adds up, and keeps nobody waiting', 'broken', [true, true, 1]],
] as const)('the end of a turn that was written down %s', async (_, kind, left) => {
  expect(await replayed(kind)).toEqual(left)
})
