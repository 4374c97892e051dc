import type { LaneTarget, RelayTarget } from './shared/lane-target.ts'

/** A lane for tests: everything ordinary but what is said. */
export const laneTarget = <Dialect>(
  dialect: Dialect,
  over: Partial<Omit<LaneTarget<Dialect>, 'dialect'>> = {},
): LaneTarget<Dialect> => ({
  model: 'lane',
  origin: 'lane',
  effort: undefined,
  outputCap: 50,
  delivery: 'stream',
  promptCache: 'off',
  cacheSalt: undefined,
  client: 'responses',
  dialect,
  ...over,
})

/** The same for a request that is relayed. */
export const relayTarget = <Dialect>(
  dialect: Dialect,
  over: Partial<Omit<RelayTarget<Dialect>, 'dialect'>> = {},
): RelayTarget<Dialect> => ({
  model: 'lane',
  origin: 'lane',
  effort: undefined,
  outputCap: 50,
  delivery: 'stream',
  cacheSalt: undefined,
  passFields: [],
  dialect,
  ...over,
})
