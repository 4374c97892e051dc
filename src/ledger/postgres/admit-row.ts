import type { AdmitRequest } from '../../books/admit-turn.ts'
import type { AllowanceStanding, Claim } from '../../books/books.ts'
import { createBooks } from '../../books/books.ts'
import { type Draw, decideCap } from '../../books/draws.ts'
import { type LimitRefusal, lookAtLimits } from '../../books/turn-limits.ts'
import type { Allowance } from '../../model/allowance.ts'
import type { NanoUsd } from '../../model/money.ts'
import type { AdmissionRefusal } from '../ledger.ts'

/** What `admit_turns` answers for one turn. Money is text, because JSON's numbers are doubles. */
export type AdmitRow = LimitStates &
  (
    | { readonly kind: 'held'; readonly receipt: number; readonly cap: number; readonly hold: string }
    /** The lease of this node has ended; or it was sent again, and its hold has been resolved by somebody meanwhile. */
    | { readonly kind: 'over' }
    | { readonly kind: 'claimed'; readonly claim: Claim }
    | { readonly kind: 'frozen' }
    | { readonly kind: 'account-suspended' | 'account-closed' }
    | { readonly kind: 'no-subscription' }
    | { readonly kind: 'plan-changed' }
    | { readonly kind: 'money'; readonly at: number; readonly draws: readonly AmountsRow[] }
    | { readonly kind: 'limit'; readonly number: number }
  )

/** The limits of the turn, in its order, as they stand after the decision. */
export interface LimitStates {
  readonly ticks: number
  readonly limits: readonly { readonly reachedAt: number; readonly running: number }[]
}

/** Something that a turn draws on, as the database looked at it; the wallet has neither period nor grant. */
export interface AmountsRow {
  readonly start: number | null
  readonly end: number | null
  readonly granted: string | null
  readonly posted: string
  readonly held: string
}

/** The words of a refusal: by the reducer's own rules, from the amounts that the database decided on. */
export function refusalOf(request: AdmitRequest, row: Exclude<AdmitRow, { kind: 'held' }>): AdmissionRefusal {
  switch (row.kind) {
    case 'claimed':
      return { kind: 'claimed', claim: row.claim, sameBody: row.claim.fingerprint === request.claim?.fingerprint }
    case 'money':
      return refusedForMoney(request, row)
    case 'limit':
      return refusedByLimit(request, row)
    case 'over':
      return { kind: 'unavailable' }
    default:
      return { kind: row.kind }
  }
}

function refusedForMoney(request: AdmitRequest, { at, draws }: Extract<AdmitRow, { kind: 'money' }>): AdmissionRefusal {
  // As the reducer does: a wallet key draws on its caps only, a builder key on no wallet.
  const isWallet = request.kind === 'wallet'
  const allowances = request.allowances.filter(({ unit }) => !isWallet || unit === 'cap')
  const seen = draws.map((amounts, index) => drawOf(allowances[index - Number(isWallet)], amounts))
  const decided = decideCap({ ...request, at }, seen)
  if (decided.kind === 'cap')
    throw new Error(`The database refused ${request.requestId}, which the rules of books admit`)
  return decided
}

export function refusedByLimit(
  { limits }: Pick<AdmitRequest, 'limits'>,
  row: LimitStates & { readonly number: number },
): LimitRefusal {
  const limit = limits[row.number]
  const state = row.limits[row.number]
  if (!limit || !state) throw new Error('The database named a limit that the request does not have')
  const books = createBooks({ receipt: 1, transfer: 1, bucket: 1, subscription: 1 })
  books.running.set(limit.subject, state.running)
  books.rates.set(limit.subject, state.reachedAt)
  const refusal = lookAtLimits(books, [limit], row.ticks)
  if (!refusal) throw new Error('The database refused a request that its limits let pass')
  return refusal
}

const drawOf = (allowance: Allowance | undefined, amounts: AmountsRow): Draw => ({
  standing: allowance && allowanceStandingOf(allowance, amounts),
  posted: BigInt(amounts.posted),
  held: BigInt(amounts.held),
})

export const allowanceStandingOf = (allowance: Allowance, amounts: AmountsRow): AllowanceStanding => ({
  allowance,
  period: { start: amounts.start ?? 0, end: amounts.end ?? 0 },
  running: undefined,
  granted: BigInt(amounts.granted ?? 0) as NanoUsd,
  posted: BigInt(amounts.posted),
  held: BigInt(amounts.held),
})
