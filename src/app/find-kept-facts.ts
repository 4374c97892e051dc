import type { KeptAnswers } from '../content/kept-answers.ts'
import type { StoredResponses } from '../content/stored-responses.ts'
import type { FindKeptFacts, FoundFacts } from '../ledger/resolve-orphans.ts'
import type { RequestId } from '../model/ids.ts'

/** What recovery asks: which answers were whole when the process died, and may still be had. */
export const findKeptFacts =
  (answers: Pick<KeptAnswers, 'factsOf'>, responses: Pick<StoredResponses, 'factsOf'>): FindKeptFacts =>
  async (requests) => {
    const found = new Map<RequestId, FoundFacts>()
    for (const [requestId, facts] of await responses.factsOf(requests))
      found.set(requestId, { facts, givenAgain: false })
    // Whoever repeats the request gets the answer: that is more than its id can give.
    for (const [requestId, facts] of await answers.factsOf(requests)) found.set(requestId, { facts, givenAgain: true })
    return found
  }
