import type { LaneTarget } from './lane-target.ts'

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
