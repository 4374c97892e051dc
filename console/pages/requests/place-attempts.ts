import type { RequestDetail } from '../../queries/requests.ts'

type Attempt = RequestDetail['attempts'][number]

export interface PlacedAttempt {
  readonly number: number
  readonly attempt: Attempt
  /** Where its bar begins and how long it is, as shares of the whole time. */
  readonly begins: number
  readonly share: number
  readonly isLast: boolean
}

/** The longer of what the request took and what its attempts took together: clocks round. */
export const laterOf = (attempts: readonly Attempt[], totalMs: number | null): number =>
  Math.max(
    totalMs ?? 0,
    attempts.reduce((sum, { ms }) => sum + ms, 0),
  )

/** One lane is asked after the other, so each begins where the one before it ended. */
export function placeAttempts(attempts: readonly Attempt[], wholeMs: number): PlacedAttempt[] {
  let before = 0
  return attempts.map((attempt, index) => {
    const begins = wholeMs === 0 ? 0 : before / wholeMs
    before += attempt.ms
    const share = wholeMs === 0 ? 1 : attempt.ms / wholeMs
    return { number: index + 1, attempt, begins, share, isLast: index === attempts.length - 1 }
  })
}
