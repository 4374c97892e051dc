import { afterAll, beforeAll, expect, it } from 'vitest'
import { createAgent } from './agent.ts'
import { createBill, expectExactCharges } from './bill.ts'
import { describeRun, seedOfRun } from './runs.ts'
import { openEveryMill, type ScriptedModelSetup } from './scripted-model-server.ts'

const TURNS = 200
const FACTS_AT = [3, 40, 90, 150]
const RELOAD_EVERY = 12
const TIMEOUT_MS = 180_000

let setup: ScriptedModelSetup
beforeAll(async () => {
  setup = await openEveryMill()
}, TIMEOUT_MS)
afterAll(() => setup?.close())

/** Another lane is the first, under another price. */
async function reload(): Promise<void> {
  const [first, ...rest] = setup.rules.lanes
  await setup.change({ lanes: [...rest, first!], inputPico: setup.rules.inputPico + 1003 })
}

const allAreWell = () => {
  for (const mill of Object.values(setup.mills)) mill.is('well')
}

it(
  'an agent keeps every fact over two hundred turns on changing lanes',
  async () => {
    const bill = createBill(setup)
    const agent = createAgent({ setup, bill, random: seedOfRun() })
    const happens: Readonly<Record<number, () => Promise<void> | void>> = {
      20: () => setup.first.is('gone'),
      30: allAreWell,
      55: () => setup.die(),
      70: () => agent.failInNextCompaction('lane'),
      95: () => agent.failInNextCompaction('process'),
      115: () => setup.first.is('busy'),
      125: allAreWell,
      135: () => agent.failInNextCompaction('lane'),
      160: () => setup.die(),
      175: () => agent.failInNextCompaction('process'),
    }
    await agent.work(TURNS, async (turn) => {
      if (FACTS_AT.includes(turn)) agent.facts.place(turn)
      if (turn % RELOAD_EVERY === 0) await reload()
      await happens[turn]?.()
    })
    await agent.requestEverything()

    const total = await expectExactCharges(setup, bill, 2)
    describeRun(agent, bill, total)
    expect(agent.facts.known()).toHaveLength(2 * FACTS_AT.length)
    for (const shortening of agent.shortenings) {
      const reported = JSON.stringify(shortening)
      expect(shortening.variant, reported).toBe('by-summary')
      expect(shortening.bytesAfter, reported).toBeLessThan(shortening.bytesBefore / 2)
    }
    // It would prove little if few of them had met a change, or carried what only we can open.
    expect(agent.shortenings.length).toBeGreaterThan(8)
    expect(bill.changes).toBeGreaterThan(TURNS / RELOAD_EVERY / 2)
    expect(bill.sealsBack).toBeGreaterThan(0)
  },
  TIMEOUT_MS,
)
