import { expect, it } from 'vitest'
import { PRICE, useLedger } from '../../test/fixtures/ledger/ledger.ts'
import type { NanoUsd, PicoPerToken } from '../model/money.ts'
import type { PriceList } from '../model/price.ts'
import { loadPrice, recordAnnounced, recordPrices } from './prices.ts'

const bench = useLedger()

const { perRequest: _, tiers: __, ...RATES } = PRICE
const DEARER: PriceList = {
  ...RATES,
  perRequest: 3n as NanoUsd,
  tiers: [{ ...RATES, aboveInputTokens: 200_000, output: 9_000_000n as PicoPerToken }],
}

const record = async (...terms: PriceList[]) => {
  const db = bench.database.db
  const versions: (number | undefined)[] = []
  for (const each of terms)
    versions.push((await recordPrices({ db, now: () => 2 }, new Map([['demo', each]]))).get('demo'))
  return versions
}

it('a price that has changed gets the next version, and what was charged by another one can still be explained', async () => {
  // The first version is recorded with every bench.
  expect(await record(PRICE, DEARER, DEARER, PRICE)).toEqual([1, 2, 2, 3])
  const { db } = bench.database
  expect([await loadPrice(db, 'demo', 1), await loadPrice(db, 'demo', 2)]).toEqual([
    { version: 1, ...PRICE },
    { version: 2, ...DEARER },
  ])
  await expect(loadPrice(db, 'demo', 4)).rejects.toThrow('not in the ledger')
})

it('two nodes whose clocks differ record a price once', async () => {
  const { db } = bench.database
  const at = async (now: number, terms: PriceList) =>
    (await recordPrices({ db, now: () => now }, new Map([['demo', terms]]))).get('demo')
  expect([await at(100, DEARER), await at(99, DEARER)]).toEqual([2, 2])
  expect(await at(101, DEARER)).toBe(2)
})

it('a price that is announced leaves the one before it in force', async () => {
  const { db } = bench.database
  const prices = new Map([['demo', DEARER]])
  expect((await recordAnnounced(db, 1000, prices)).get('demo')).toBe(2)
  expect((await recordPrices({ db, now: () => 5 }, new Map([['demo', PRICE]]))).get('demo')).toBe(1)
  expect((await recordPrices({ db, now: () => 1000 }, prices)).get('demo')).toBe(2)
})
