import type { RequestDetail } from '../../queries/requests.ts'

type Attempt = RequestDetail['attempts'][number]

export interface PlacedAttempt {
  readonly number: number
  readonly attempt: Attempt
  /** The start and length of its bar as shares of the total time. */
  readonly begins: number
  readonly share: number
  readonly isLast: boolean
}

/** The attempts can add up to more than the total because of rounding. */
export const laterOf = (attempts: readonly Attempt[], totalMs: number | null): number =>
  Math.max(
    totalMs ?? 0,
    attempts.reduce((sum, { ms }) => sum + ms, 0),
  )

/** Lanes are tried one after another. */
export function placeAttempts(attempts: readonly Attempt[], wholeMs: number): PlacedAttempt[] {
  let before = 0
  return attempts.map((attempt, index) => {
    const begins = wholeMs === 0 ? 0 : before / wholeMs
    before += attempt.ms
    const share = wholeMs === 0 ? 1 : attempt.ms / wholeMs
    return { number: index + 1, attempt, begins, share, isLast: index === attempts.length - 1 }
  })
}
