import { expect, it } from 'vitest'
import { playConversations, WAYS } from '../../test/fixtures/gateway/random-conversations.ts'

const SEED = 20_281
/** RANDOM_CONVERSATIONS=20000 for a long run. */
const RUNS = Number(process.env.RANDOM_CONVERSATIONS ?? 100)
const WIRES = 4

it('what a provider is sent in one turn is the beginning of what it is sent in the next', {
  timeout: 300_000,
}, async () => {
  const played = await playConversations({ seed: SEED, runs: RUNS, path: process.env.AT })
  console.info(`stable prefixes: seed ${SEED}, ${RUNS} conversations`, played)
  expect(Object.keys(played)).toHaveLength(WAYS.length * WIRES)
})
