import { createLruMap } from '../lib/lru-map.ts'

/**
 * How far the charge of a cancelled turn would have been from the true one, by model: measured at the end of turns whose true
 * usage was told, against what the estimate would have said.
 */
export interface EstimateErrors {
  /** In proportion to the true charge: 0.1 is a tenth too much, -0.1 a tenth too little. */
  note(model: string, error: number): void
  /** Undefined where nothing was measured. */
  of(model: string): EstimateErrorView | undefined
}

/** Of the last turns that were measured; the errors without their sign. */
export interface EstimateErrorView {
  readonly turns: number
  readonly median: number
  readonly p90: number
}

const TURNS_MAX = 200
const MODELS_MAX = 1000

interface Measured {
  readonly errors: Float32Array
  count: number
}

export function createEstimateErrors(): EstimateErrors {
  const models = createLruMap<string, Measured>(MODELS_MAX)
  return {
    note(model, error) {
      const measured = models.get(model) ?? { errors: new Float32Array(TURNS_MAX), count: 0 }
      if (measured.count === 0) models.set(model, measured)
      measured.errors[measured.count % TURNS_MAX] = Math.abs(error)
      measured.count += 1
    },
    of(model) {
      const measured = models.get(model)
      if (measured === undefined) return undefined
      const turns = Math.min(measured.count, TURNS_MAX)
      const sorted = measured.errors.slice(0, turns).sort()
      const at = (share: number) => sorted[Math.min(turns - 1, Math.floor(share * turns))] ?? 0
      return { turns, median: at(0.5), p90: at(0.9) }
    },
  }
}
