import { createTurnstile } from '../../lib/take-turns.ts'

/** Parsed or written without a pause: a few milliseconds of the slowest text. */
export const PIECE_BYTES = 1024 * 1024

/** Of all bodies that are parsed or written in pieces, one piece runs in a turn of the event loop. */
export const passTurnstile = createTurnstile()

/** After a step that has gone through all of them: a large body gives way to others. */
export const pauseAfter = ({ length }: Buffer): Promise<void> | undefined =>
  length > PIECE_BYTES ? passTurnstile() : undefined
