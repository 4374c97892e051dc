import type { JsonBounds } from './scan-json.ts'

/** For a part of a body that was bounded as a whole at the door: what is inside it is bounded too. */
export const INNER_BOUNDS: JsonBounds = { depthMax: 100_000, valuesMax: Number.MAX_SAFE_INTEGER }
