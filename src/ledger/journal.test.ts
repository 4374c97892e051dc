import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { HOLD, useLedger } from '../../test/fixtures/ledger/ledger.ts'
import { GIVEN_BACK, settlement } from '../../test/fixtures/model/ending.ts'
import { findReceipt } from '../db/receipts.ts'
import { waitingEnds } from '../db/settle-journal.ts'
import type { RequestId } from '../model/ids.ts'
import { openJournaledEnds } from './journal.ts'

const bench = useLedger()

/** As a disk without room: every page that the file would have to grow by is refused. */
async function fillDisk(): Promise<void> {
  const pages = await pragma('page_count')
  await pragma(`max_page_count = ${pages}`)
  // What is free inside the file is room as well.
  await bench.run("INSERT INTO meta (name, value) VALUES ('ballast', '')")
  for (let size = 4_000_000; size >= 500; ) {
    const grown = await bench
      .run(`UPDATE meta SET value = value || hex(zeroblob(${size})) WHERE name = 'ballast'`)
      .catch(() => 'full')
    if (grown === 'full') size = Math.floor(size / 2)
  }
}
const freeDisk = async (): Promise<void> => {
  await pragma('max_page_count = 1000000')
}
const pragma = async (text: string): Promise<number> => {
  const { rows } = await sql<Record<string, number>>`${sql.raw(`PRAGMA ${text}`)}`.execute(bench.database.db)
  return Object.values(rows[0] ?? {})[0] ?? 0
}

const ENDS_AND_PROOF = /UPDATE receipts|INTO meta/
const repair = () => bench.failWrites(undefined)
const opensAgain = () => expect.poll(() => bench.ledger.gate.open, { timeout: 20_000 }).toBe(true)
const receiptOf = (requestId: string) => findReceipt(bench.database.db, requestId)

describe('the end of a turn while the ledger cannot be written', () => {
  it('is durable beside them, and in them as soon as they can be written', async () => {
    await bench.credit(HOLD * 10n)
    const [charged, free] = [await bench.admit(), await bench.admit()]
    await Promise.all([charged.durable, free.durable])
    charged.mark(1)
    bench.failWrites(ENDS_AND_PROOF)
    const compaction = { tokensBefore: 48_210, tokensAfter: 2_034 }
    const ends = [charged.settle({ ...settlement(1000n), compaction }), free.settle(GIVEN_BACK)]
    expect(await Promise.all(ends)).toMatchObject([
      { kind: 'settled', charge: 1000n, shortfall: 0n },
      { kind: 'released' },
    ])
    charged.detach()
    free.detach()
    expect(await bench.database.journal.read()).toHaveLength(2)
    expect(bench.ledger.gate.open).toBe(false)

    repair()
    await opensAgain()
    expect(await receiptOf(charged.requestId)).toMatchObject({
      ...{ outcome: 'completed', charge_nano: 1000n, output: 2 },
      ...{ tokens_before: 48_210, tokens_after: 2_034 },
    })
    expect(await receiptOf(free.requestId)).toMatchObject({ state: 'released', charge_nano: 0n, tokens_before: null })
    expect(await bench.database.journal.read()).toEqual([])
    await bench.expectMemoryIsTheFile()
    await bench.expectBalancedLedger()
  })

  it('is recorded after a crash, before recovery estimates what the turn had cost', async () => {
    await bench.credit(HOLD * 10n)
    const turn = await bench.admit()
    await turn.durable
    turn.mark(1)
    bench.failWrites(ENDS_AND_PROOF)
    const compaction = { tokensBefore: 48_210, tokensAfter: 0 }
    const settled = await turn.settle({ ...settlement(HOLD + 7n), compaction })
    expect(settled).toMatchObject({ kind: 'settled', charge: HOLD, shortfall: 7n })
    repair()
    await bench.reopen()
    expect(await receiptOf(turn.requestId)).toMatchObject({
      outcome: 'completed',
      charge_nano: HOLD,
      shortfall_nano: 7n,
      tokens_before: 48_210,
      tokens_after: 0,
    })
    expect(bench.recovered).toBe(0)
    expect(await bench.database.journal.read()).toEqual([])
    await bench.expectBalancedLedger()
    await bench.reopen()
    expect(await bench.ledger.accountStatus(bench.account)).toMatchObject({ balance: HOLD * 9n })
  })

  it('is refused at a start if it has another form, so that recovery does not estimate what the turn had cost', async () => {
    await bench.credit(HOLD * 10n)
    const turn = await bench.admit()
    await turn.durable
    const older = [
      `{"requestId":"${turn.requestId}"}`,
      `${turn.requestId} {"outcome":"completed","usage":{"output":2}}`,
    ]
    for (const record of older) {
      await bench.database.journal.append(record)
      await expect(bench.reopen(), record).rejects.toThrow(/a form that this version does not read/)
      await bench.database.journal.clear(() => false)
    }
  })

  it('is charged once when it stood in the journal and, the commit having gone through, in the ledger too', async () => {
    await bench.credit(HOLD * 10n)
    const turn = await bench.admit()
    await turn.durable
    bench.failWrites(ENDS_AND_PROOF)
    await turn.settle(settlement(1000n))
    const [record] = await bench.database.journal.read()
    repair()
    await opensAgain()
    await bench.database.journal.append(record!)
    await bench.reopen()
    expect(await bench.ledger.accountStatus(bench.account)).toMatchObject({ balance: HOLD * 10n - 1000n, held: 0n })
    await bench.expectBalancedLedger()
  })

  it('is lost, and no end may be sent, where neither can be written', async () => {
    await bench.credit(HOLD * 10n)
    const turn = await bench.admit()
    await turn.durable
    bench.failWrites(ENDS_AND_PROOF)
    await bench.database.journal.close()
    expect(await turn.settle(settlement(1000n))).toEqual({ kind: 'lost' })
    repair()
    await opensAgain()
  })
})

it('an end that is journaled while others are recorded is recorded too, and blocks no other', async () => {
  const ends = await openJournaledEnds(bench.database.journal, waitingEnds(bench.database.db, bench.database.file))
  const endOf = (requestId: string) => ({ requestId: requestId as RequestId, ending: GIVEN_BACK })
  const recorded: string[] = []
  expect(await ends.write(endOf('req_1'))).toBe(true)
  const isDone = await ends.replay(async ({ requestId }) => {
    if (recorded.length === 0) await ends.write(endOf('req_2'))
    recorded.push(requestId)
    return { kind: 'recorded' }
  })
  expect([isDone, recorded, ends.isEmpty]).toEqual([true, ['req_1', 'req_2'], true])
  expect(await bench.database.journal.read()).toEqual([])
})

it('a journal that cannot be cleared blocks nothing, and is cleared the next time', async () => {
  await bench.credit(HOLD * 10n)
  const turn = await bench.admit()
  await turn.durable
  const { journal } = bench.database
  const { clear } = journal
  journal.clear = () => Promise.reject(new Error('input/output error'))
  bench.failWrites(ENDS_AND_PROOF)
  expect(await turn.settle(settlement(1000n))).toMatchObject({ kind: 'settled' })
  repair()
  await opensAgain()
  expect(await receiptOf(turn.requestId)).toMatchObject({ outcome: 'completed', charge_nano: 1000n })
  expect(await journal.read()).toHaveLength(1)

  journal.clear = clear
  await bench.reopen()
  expect(await bench.database.journal.read()).toEqual([])
  expect(await bench.ledger.accountStatus(bench.account)).toMatchObject({ balance: HOLD * 10n - 1000n, held: 0n })
  await bench.expectBalancedLedger()
})

describe('a disk that is full', () => {
  it('refuses new turns, loses no end of a running one, and is well again once there is room', async () => {
    await bench.credit(HOLD * 100n)
    const running = await Promise.all(Array.from({ length: 20 }, () => bench.admit()))
    await Promise.all(running.map((turn) => turn.durable))
    await fillDisk()
    const refused: string[] = []
    for (let tries = 0; tries < 60 && bench.ledger.gate.open; tries++) {
      const admission = await bench.ledger.admit(bench.request())
      if (admission.kind === 'refused') refused.push(admission.refusal.kind)
      else if ((await admission.durable) === 'lost') refused.push('lost')
      else await admission.settle(GIVEN_BACK)
    }
    expect(bench.failures.map(String).join()).toContain('full')
    const settled = await Promise.all(running.map((turn) => turn.settle(settlement(1000n))))
    expect(settled.every(({ kind }) => kind === 'settled')).toBe(true)
    expect((await bench.ledger.admit(bench.request())).kind).toBe('refused')

    await freeDisk()
    await opensAgain()
    expect(await bench.ledger.accountStatus(bench.account)).toMatchObject({ balance: HOLD * 100n - 20_000n, held: 0n })
    expect(await (await bench.admit()).settle(GIVEN_BACK)).toEqual({ kind: 'released' })
    await bench.expectMemoryIsTheFile()
    await bench.expectBalancedLedger()
  }, 60_000)
})

it('the journal is not cleared over an end that is on its way into it', async () => {
  const { journal } = bench.database
  const noCache = { read: async () => [], add: async () => {}, remove: async () => {} }
  let isNeeded: boolean | undefined
  const asked = new Promise<void>((tell) => {
    journal.clear = async (stillNeeded) => {
      isNeeded ??= stillNeeded()
      tell()
    }
  })
  // Durable, before the caller of append knows.
  journal.append = () => asked.then(() => true)
  const ends = await openJournaledEnds(journal, noCache)
  const written = ends.write({ requestId: 'req_1' as RequestId, ending: GIVEN_BACK })
  expect(await ends.replay(async () => ({ kind: 'recorded' }))).toBe(true)
  expect(await written).toBe(true)
  expect(isNeeded).toBe(true)
})
