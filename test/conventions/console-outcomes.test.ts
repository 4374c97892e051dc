import { expect, it } from 'vitest'
import { receipt as germanReceipt } from '../../console/messages/de/receipt.ts'
import { requests as german } from '../../console/messages/de/requests.ts'
import { receipt as englishReceipt } from '../../console/messages/en/receipt.ts'
import { requests as english } from '../../console/messages/en/requests.ts'
import type { AttemptResult } from '../../src/gateway/attempt.ts'
import type { AbortReason } from '../../src/gateway/cancellation.ts'
import type { TurnOutcome } from '../../src/model/ending.ts'
import type { RefusalClass } from '../../src/protocols/refusals/provider-error.ts'
import type { DeadlinePhase } from '../../src/providers/deadlines.ts'
import type { UpstreamFailure } from '../../src/providers/upstream-answer.ts'

/** How one attempt on a lane can end, as the receipt spells it. */
type AttemptOutcome = AttemptResult['kind'] | AbortReason | DeadlinePhase | UpstreamFailure | RefusalClass

// The compiler proves both directions: every value of the server has a message, and every message has a value.
const MESSAGES = [english, german]
const outcomes: readonly Readonly<Record<TurnOutcome, string>>[] = MESSAGES.flatMap(({ outcomes, happened, free }) => [
  ...[outcomes, happened, free],
])
const attempts: readonly Readonly<Record<AttemptOutcome, string>>[] = [englishReceipt, germanReceipt].map(
  ({ attempts: messages }) => messages.outcomes,
)
const extraOutcomes: readonly Exclude<keyof typeof english.outcomes, TurnOutcome>[] = []
const extraAttemptOutcomes: readonly Exclude<keyof typeof englishReceipt.attempts.outcomes, AttemptOutcome>[] = []

it('the console has a message for every outcome of a request and of an attempt', () => {
  for (const messages of [...outcomes, ...attempts]) {
    expect(Object.values(messages).filter((text) => text.trim() === '')).toEqual([])
  }
  expect([...extraOutcomes, ...extraAttemptOutcomes]).toEqual([])
})
