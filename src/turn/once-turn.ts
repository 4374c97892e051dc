import type { ClaimRequest } from '../books/claims.ts'
import type { KeptAnswers } from '../content/kept-answers.ts'
import { writeKeptFacts } from '../ledger/kept-facts.ts'
import type { Delivery } from '../model/turn.ts'
import type { Keeper } from './keeper.ts'
import type { Recording } from './recording.ts'
import type { TurnCall } from './turn-call.ts'

/** What makes a turn one that runs once, however often it is asked for: its claim on the key, and its answer to be kept. */
export interface OnceTurn extends Keeper {
  readonly claim: ClaimRequest
  readonly recording: Recording
}

const CONTENT_TYPES = { json: 'application/json', stream: 'text/event-stream; charset=utf-8' } as const

export function createOnceTurn(
  answers: Pick<KeptAnswers, 'keep' | 'forget'>,
  { requestId, caller }: Pick<TurnCall, 'requestId' | 'caller'>,
  first: { readonly claim: ClaimRequest; readonly recording: Recording; readonly delivery: Delivery },
): OnceTurn {
  const { claim, recording, delivery } = first
  return {
    claim,
    recording,
    async keep(facts) {
      const body = recording.whole()
      if (body === undefined) return false
      const head = { requestId, account: caller.account, status: 200, contentType: CONTENT_TYPES[delivery] }
      return answers.keep({ ...head, body, facts: writeKeptFacts(facts), expiresAt: claim.expiresAt })
    },
    forget: () => answers.forget(requestId),
  }
}
