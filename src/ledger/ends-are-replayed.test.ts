import { expect, it } from 'vitest'
import { settlement } from '../../test/fixtures/model/ending.ts'
import type { SettleJournal } from '../db/settle-journal.ts'
import type { RequestId } from '../model/ids.ts'
import { openJournaledEnds, type WaitingEnds } from './journal.ts'

const REQUEST = 'req_1' as RequestId

/** A journal on no disk. */
function journalInMemory(): SettleJournal {
  let records: string[] = []
  return {
    found: { isNew: false, quarantine: undefined, damaged: 0, cutOff: false },
    append: async (record) => records.push(record) > 0,
    read: async () => records,
    async clear(stillNeeded) {
      if (!stillNeeded()) records = []
    },
    close: async () => {},
  }
}

/** What waits in the ledger. */
function tableInMemory(): WaitingEnds {
  const records = new Map<RequestId, string>()
  return {
    read: async () => [...records.values()],
    async add(requestIds, texts) {
      requestIds.forEach((requestId, place) => void records.set(requestId, texts[place]!))
    },
    async remove(requestIds) {
      for (const requestId of requestIds) records.delete(requestId)
    },
  }
}

type Recorded = 'recorded' | 'not-open' | 'lost' | 'broken'

/** What becomes of a journaled end for each result of recording it: done, still known, in the journal, in the table. */
async function replayed(kind: Recorded) {
  const journal = journalInMemory()
  const cache = tableInMemory()
  const ends = await openJournaledEnds(journal, cache)
  await ends.write({ requestId: REQUEST, ending: settlement(1000n) })
  const done = await ends.replay(async () => ({ kind }))
  return [done, ends.has(REQUEST), (await journal.read()).length, (await cache.read()).length]
}

it.each([
  ['is done when it is recorded', 'recorded', [true, false, 0, 0]],
  ['is done when it was recorded already', 'not-open', [true, false, 0, 0]],
  ['is kept, and tried again, when the commit was lost', 'lost', [false, true, 1, 0]],
  ['waits in the table until its account balances, and frees the journal for others', 'broken', [true, true, 0, 1]],
] as const)('the end of a turn that was written down %s', async (_, kind, left) => {
  expect(await replayed(kind)).toEqual(left)
})

it('an end that has waited in the ledger is recorded when its account adds up again, also after a restart', async () => {
  const [journal, cache] = [journalInMemory(), tableInMemory()]
  const before = await openJournaledEnds(journal, cache)
  await before.write({ requestId: REQUEST, ending: settlement(1000n) })
  await before.replay(async () => ({ kind: 'broken' }))
  const ends = await openJournaledEnds(journal, cache)
  expect(ends.has(REQUEST)).toBe(true)
  expect(await ends.replay(async () => ({ kind: 'recorded' }))).toBe(true)
  expect([ends.isEmpty, await cache.read()]).toEqual([true, []])
})
