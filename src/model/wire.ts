/** The protocols that providers speak over the network. What each takes has a row in `wire/codecs.ts` and in `upstream/provider-kinds.ts`. */
const LANE_WIRES = ['chat', 'responses', 'anthropic', 'gemini'] as const
export type LaneWire = (typeof LANE_WIRES)[number]

/** The built-in demo is asked in this process, and speaks Chat. */
export const WIRES = [...LANE_WIRES, 'demo'] as const
export type Wire = (typeof WIRES)[number]
