import { expect, it } from 'vitest'
import { randomFrom } from '../../fixtures/lib/seeded-random.ts'
import * as actions from './drill-actions.ts'
import { openDrillWorld } from './drill-world.ts'

/** All of it: MILLRACE_DRILL_ROUNDS=50. A run is repeated with MILLRACE_DRILL_SEED. */
const ROUNDS = Number(process.env.MILLRACE_DRILL_ROUNDS ?? 2)
const SEED = Number(process.env.MILLRACE_DRILL_SEED ?? Date.now() % 100_000)
const ACTS_IN_A_ROUND = 9

it(`backups, restores and losses never mix accounts (${ROUNDS} rounds, seed ${SEED})`, {
  timeout: 60_000 + ROUNDS * 60_000,
}, async () => {
  const coverage: Record<string, number> = {}
  const count: actions.Count = (what, by = 1) => {
    coverage[what] = (coverage[what] ?? 0) + by
  }
  for (let round = 0; round < ROUNDS; round++) await playRound(randomFrom(SEED + round), count)
  console.log(`restore drill: seed ${SEED}, ${ROUNDS} rounds, ${JSON.stringify(coverage)}`)
  expect(coverage['cross-reads tried']).toBeGreaterThan(0)
  expect(coverage['own reads']).toBeGreaterThan(0)
  // Few rounds may by chance have had nothing of the kind.
  const seldom = ['content.db set aside and said', 'starts refused with the cure', 'crashes', 'cross-repeats tried']
  if (ROUNDS >= 20) for (const what of seldom) expect(coverage[what], what).toBeGreaterThan(0)
})

async function playRound(random: actions.Random, count: actions.Count): Promise<void> {
  const world = await openDrillWorld()
  try {
    await world.signUp()
    await actions.storeResponse(world, random, count)
    await actions.backUp(world, random, count)
    // What a backup of now would not have: a person, and their requests.
    await world.signUp()
    await world.signUp()
    await actions.storeResponse(world, random, count)
    for (let act = 0; act < ACTS_IN_A_ROUND; act++) await playAct(world, random, count)
    await actions.restore(world, random, count)
    await world.signUp()
    await world.signUp()
    await actions.storeResponse(world, random, count)
    await actions.keepAnswer(world, random, count)
    await actions.probe(world, random, count)
    await actions.judgeUsage(world, count)
  } finally {
    await world.close()
  }
}

type World = Awaited<ReturnType<typeof openDrillWorld>>

async function playAct(world: World, random: actions.Random, count: actions.Count): Promise<void> {
  switch (random(8)) {
    case 0:
      count('sign-ups')
      return world.signUp()
    case 1:
    case 2:
      return actions.storeResponse(world, random, count)
    case 3:
      return actions.keepAnswer(world, random, count)
    case 4:
      return actions.backUp(world, random, count)
    case 5:
      await actions.restore(world, random, count)
      return actions.probe(world, random, count)
    case 6:
      return actions.crash(world, count)
    default:
      return actions.loseOne(world, random, count)
  }
}
