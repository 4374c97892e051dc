import { expect, it } from 'vitest'
import { playConversations, WAYS } from '../../test/fixtures/gateway/random-conversations.ts'

const SEED = Number(process.env.SEED ?? 20_282)
/** All of it: PREFIX_RUNS=10000, some minutes for each wire. */
const RUNS = Number(process.env.PREFIX_RUNS ?? 1000)
const WIRES = ['chat', 'responses', 'anthropic', 'gemini'] as const

it.each(WIRES)(
  `${RUNS} conversations keep their prefix over %s`,
  {
    timeout: 900_000,
  },
  async (wire) => {
    const played = await playConversations({ seed: SEED, runs: RUNS, wire, path: process.env.AT })
    console.info(`stable prefixes over ${wire}: seed ${SEED}, ${RUNS} conversations`, played)
    expect(Object.keys(played)).toHaveLength(WAYS.length)
  },
)
