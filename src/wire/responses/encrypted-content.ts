import type { Opaque } from '../../model/event.ts'

/**
 * Sealed reasoning as a client carries it. What came from another wire could not be told from a Responses provider's own
 * when it comes back, and would be sent to the wrong one: it is not handed out.
 */
export const encryptedContentOf = (opaque: Opaque): string | undefined =>
  opaque.wire === 'responses' ? opaque.data : undefined
