/**
 * The protocols that providers speak over the network. To add a wire, write its name here, its row in `protocols/wires.ts`, which
 * the compiler asks for, and its folder `protocols/<name>/` with `dialects.ts`, `write-request.ts` and `read-events.ts`. No type asks
 * for its field names in `routing/learned-capabilities.ts` (`LEARNABLE_FIELDS`, `NEVER_LEFT_OUT`) and `gateway/upstream-errors.ts`
 * (`INPUT`, `OUTPUT_CAP`, `EFFORT`), nor for its error codes in `protocols/refusals/`.
 */
const LANE_WIRES = ['chat', 'responses', 'anthropic', 'gemini'] as const
export type LaneWire = (typeof LANE_WIRES)[number]

/** The built-in demo runs in this process, and speaks Chat. */
export const WIRES = [...LANE_WIRES, 'demo'] as const
export type Wire = (typeof WIRES)[number]
