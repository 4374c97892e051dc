import { expect, it } from 'vitest'
import { receipt as germanReceipt } from '../../console/messages/de/receipt.ts'
import { requests as german } from '../../console/messages/de/requests.ts'
import { receipt as englishReceipt } from '../../console/messages/en/receipt.ts'
import { requests as english } from '../../console/messages/en/requests.ts'
import type { RunFate } from '../../src/gateway/attempt.ts'
import type { StopReason } from '../../src/gateway/cancellation.ts'
import type { TurnOutcome } from '../../src/model/ending.ts'
import type { RefusalClass } from '../../src/protocols/refusals/classify-refusal.ts'
import type { DeadlinePhase } from '../../src/providers/deadlines.ts'
import type { UpstreamFailure } from '../../src/providers/upstream-answer.ts'

/** How one try of a lane can end, as the receipt spells it. */
type TryOutcome = RunFate['kind'] | StopReason | DeadlinePhase | UpstreamFailure | RefusalClass

// The compiler proves these two ways: whatever the server can say has words, and there are no words for what it cannot.
const WORDS = [english, german]
const outcomes: readonly Readonly<Record<TurnOutcome, string>>[] = WORDS.flatMap(({ outcomes, happened, free }) => [
  ...[outcomes, happened, free],
])
const tries: readonly Readonly<Record<TryOutcome, string>>[] = [englishReceipt, germanReceipt].map(
  ({ attempts }) => attempts.outcomes,
)
const strangers: readonly Exclude<keyof typeof english.outcomes, TurnOutcome>[] = []
const strangeTries: readonly Exclude<keyof typeof englishReceipt.attempts.outcomes, TryOutcome>[] = []

it('the console has words for every way in which a request or a try of it can end', () => {
  for (const words of [...outcomes, ...tries]) {
    expect(Object.values(words).filter((word) => word.trim() === '')).toEqual([])
  }
  expect([...strangers, ...strangeTries]).toEqual([])
})
