import type { Phase } from '../../model/event.ts'

/** The phase of a message, which clients give back as they got it; undefined where it has none, or one that nobody knows. */
export const readPhase = (phase: unknown): Phase | undefined =>
  phase === 'commentary' || phase === 'final_answer' ? phase : undefined
