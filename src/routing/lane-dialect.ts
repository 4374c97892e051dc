import type { Lane } from '../catalog/catalog.ts'
import { codecs, type LaneDialect } from '../wire/codecs.ts'

/** Lanes live as long as the configuration that names them. */
const dialects = new WeakMap<Lane, LaneDialect>()

/** A lane's language, as its model wants to be spoken to. */
export function laneDialect(lane: Lane): LaneDialect {
  const known = dialects.get(lane)
  if (known !== undefined) return known
  const { upstream, traits } = lane
  const { apiVersion } = upstream
  const dialect = codecs.dialect(upstream.wire, upstream.dialect, { traits, apiVersion })
  dialects.set(lane, dialect)
  return dialect
}

/** A cap as the lane takes it: no less than its server's least. */
export const capOn = (lane: Lane, asked: number): number => Math.max(asked, laneDialect(lane).outputTokensMin ?? 0)
