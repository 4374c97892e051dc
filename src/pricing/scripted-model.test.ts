import { expect, it } from 'vitest'
import { catalogOf, modelDefinition } from '../../test/fixtures/catalog/catalog.ts'
import { randomFrom } from '../../test/fixtures/lib/seeded-random.ts'
import type { Usage } from '../model/price.ts'
import { type HiddenReasoning, LaneEstimator, type SeenWork } from './lane-estimators.ts'

/**
 * A model that is not like the catalogue says, and never twice the same: each turn has its own speed, its own wait and its
 * own words. What is asked is how far the estimate of a turn that is cut anywhere is from what was produced until then.
 */
interface Model {
  readonly hiddenReasoning: HiddenReasoning
  /** Tokens of hidden reasoning, from and to, spread evenly over the orders of magnitude between. */
  readonly hidden: readonly [number, number]
  readonly bytesPerToken: number
  readonly tokensASecond: number
  readonly waitSeconds: number
  /** How much single turns differ from all that, as the deviation of a logarithm. */
  readonly spread: number
}

const { bytesPerToken } = catalogOf(modelDefinition('m')).entries.get('m')!.model
const TURNS_TO_LEARN = 40
const TURNS_TO_JUDGE = 400

const random = randomFrom(20_261_124)
const uniform = () => random(1_000_000) / 1_000_000
const spread = (by: number) => Math.exp(by * (uniform() + uniform() + uniform() + uniform() - 2) * Math.sqrt(3))
const between = ([from, to]: readonly [number, number]) => Math.exp(Math.log(from) + uniform() * Math.log(to / from))

/** One turn: how it is seen, and what it has truly produced, when it is cut after a share of its tokens. */
function turnOf(model: Model) {
  const hidden = model.hidden[1] === 0 ? 0 : Math.round(between(model.hidden))
  const emitted = Math.round(between([30, 2000]))
  const wait = model.waitSeconds * spread(model.spread * 2)
  const rate = model.tokensASecond * spread(model.spread)
  const bytes = model.bytesPerToken * spread(model.spread / 2)
  return (share: number): { readonly work: SeenWork; readonly usage: Usage } => {
    const output = Math.max(1, Math.round((hidden + emitted) * share))
    const reasoning = Math.min(hidden, output)
    const work = {
      outputBytes: Math.round((output - reasoning) * bytes),
      silentMs: Math.round((wait + reasoning / rate) * 1000),
      hiddenReasoning: model.hiddenReasoning,
    }
    return { work, usage: { uncachedInput: 100, cachedInput: 0, cacheWrite: 0, output, reasoning } }
  }
}

const placeOf = (errors: readonly number[], share: number) =>
  [...errors].sort((one, other) => one - other)[Math.floor(share * errors.length)] ?? 0

/** Judged after `turns` whole ones; each judged turn is cut at a random point, and never learned from. */
function errorsAfter(turns: number, model: Model) {
  const estimator = new LaneEstimator()
  for (let turn = 0; turn < turns; turn++) {
    const { work, usage } = turnOf(model)(1)
    estimator.learn(work, usage, { bytesPerToken, inputEstimate: 80 })
  }
  const errors = Array.from({ length: TURNS_TO_JUDGE }, () => {
    const { work, usage } = turnOf(model)(0.05 + 0.95 * uniform())
    return Math.abs(estimator.outputOf(work, bytesPerToken).output / usage.output - 1)
  })
  return { median: placeOf(errors, 0.5), p90: placeOf(errors, 0.9) }
}

const PLAIN = { hidden: [0, 0], bytesPerToken: 3.1, tokensASecond: 75, waitSeconds: 0.8, spread: 0.1 } as const
const MODELS: Readonly<Record<string, Model>> = {
  'shows all that it thinks': { ...PLAIN, hiddenReasoning: 'unknown' },
  'hides its reasoning, and its server is known to': { ...PLAIN, hiddenReasoning: 'known', hidden: [60, 8000] },
  'hides its reasoning unexpectedly': { ...PLAIN, hiddenReasoning: 'unknown', hidden: [60, 8000] },
}
/** Where the time before the first token differs by as much as many tokens take, it cannot be told from them. */
const HARDER: Readonly<Record<string, Model>> = {
  'hides its reasoning, and is fast': { ...PLAIN, hiddenReasoning: 'known', hidden: [200, 8000], tokensASecond: 400 },
  'hides its reasoning, and is slow to begin': {
    ...PLAIN,
    hiddenReasoning: 'known',
    hidden: [200, 8000],
    waitSeconds: 4,
  },
}
const CASES = [
  ...Object.entries(MODELS).map(([name, model]) => ({ name, model, within: { median: 0.1, p90: 0.3 } })),
  ...Object.entries(HARDER).map(([name, model]) => ({ name, model, within: { median: 0.15, p90: 0.5 } })),
]

it.each(CASES)(
  'a turn that is cut is charged for what it produced, by a model that $name',
  ({ name, model, within }) => {
    const [cold, learned] = [errorsAfter(0, model), errorsAfter(TURNS_TO_LEARN, model)]
    const percent = (value: number) => `${(100 * value).toFixed(1)} %`
    const delivered = ({ median, p90 }: typeof cold) => `median ${percent(median)}, p90 ${percent(p90)}`
    console.info(
      `a model that ${name}: ${delivered(learned)} after ${TURNS_TO_LEARN} turns; before any: ${delivered(cold)}`,
    )
    expect(learned.median).toBeLessThanOrEqual(within.median)
    expect(learned.p90).toBeLessThanOrEqual(within.p90)
  },
)

it('an effort without reasoning is never charged for hidden output', () => {
  const estimator = new LaneEstimator()
  for (let turn = 0; turn < 20; turn++) {
    const { work, usage } = turnOf(MODELS['hides its reasoning, and its server is known to']!)(1)
    estimator.learn(work, usage, { bytesPerToken, inputEstimate: 80 })
  }
  expect(estimator.outputOf({ outputBytes: 0, silentMs: 60_000, hiddenReasoning: 'no' }, bytesPerToken).output).toBe(0)
  expect(
    estimator.outputOf({ outputBytes: 0, silentMs: 60_000, hiddenReasoning: 'known' }, bytesPerToken).output,
  ).toBeGreaterThan(500)
})

it('a lane of which nothing is known is judged by the catalogue, and hides nothing unless its server is known to', () => {
  const estimator = new LaneEstimator()
  expect(estimator.outputOf({ outputBytes: 401, silentMs: 60_000, hiddenReasoning: 'unknown' }, 4)).toEqual({
    output: 101,
    reasoning: 0,
  })
  expect(estimator.outputOf({ outputBytes: 401, silentMs: 62_000, hiddenReasoning: 'known' }, 4)).toMatchObject({
    reasoning: 3600,
  })
  expect(estimator.outputOf({ outputBytes: 0, jsonAnswerMs: 60_000 }, 4).output).toBe(0)
  expect(estimator.inputFactor).toBe(1)
})

it('an answer in one piece is taken for as long as it was made, and never for much more than is usual', () => {
  const estimator = new LaneEstimator()
  for (const output of [200, 900, 400, 1600, 700, 500]) {
    const usage: Usage = { uncachedInput: 9, cachedInput: 0, cacheWrite: 0, output, reasoning: 0 }
    estimator.learn({ outputBytes: output * 4, jsonAnswerMs: 500 + output * 20 }, usage, {
      bytesPerToken,
      inputEstimate: 9,
    })
  }
  const at = (jsonAnswerMs: number) => estimator.outputOf({ outputBytes: 0, jsonAnswerMs }, bytesPerToken).output
  expect(at(100)).toBe(0)
  expect(Math.abs(at(500 + 600 * 20) / 600 - 1)).toBeLessThan(0.1)
  expect(at(600_000), 'a provider that hangs').toBeLessThan(2000)
})

it('what a few clients make a model say cannot make it absurd for others', () => {
  const estimator = new LaneEstimator()
  const usage: Usage = { uncachedInput: 1, cachedInput: 0, cacheWrite: 0, output: 100_000, reasoning: 0 }
  for (let turn = 0; turn < 500; turn++)
    estimator.learn({ outputBytes: 100 }, usage, { bytesPerToken, inputEstimate: 9999 })
  const { output } = estimator.outputOf({ outputBytes: 4000 }, 4)
  expect(output).toBeGreaterThan(2000)
  expect(output).toBeLessThanOrEqual(2530)
  expect(estimator.inputFactor).toBe(0.4)
})
