import type { CompactedTokens } from '../model/compacted-tokens.ts'
import type { RequestId } from '../model/ids.ts'
import { type NanoUsd, smallest, ZERO } from '../model/money.ts'
import { inputTokensOf, type MeteredUsage } from '../model/usage.ts'
import { type AccountBooks, type Books, booksOf, mustHold, nextMovement, type OpenTurn } from './books.ts'
import type { Change } from './changes.ts'
import { endClaim } from './claims.ts'
import { closePeriod } from './periods.ts'
import { SIDES } from './sides.ts'
import { endUnderLimits } from './turn-limits.ts'

/** How an open turn ends. `charge: undefined` is a release: the hold goes back whole and nothing is owed. */
export interface CloseTurn {
  readonly requestId: RequestId
  readonly charge: TurnCharge | undefined
  readonly outcome: string
  readonly lane: string | undefined
  readonly firstByteMs: number | undefined
  readonly totalMs: number
  readonly attempts: string
  readonly compaction: CompactedTokens | undefined
  /** The answer is stored, and may be given again to who asks with the same idempotency key. */
  readonly kept: boolean
  readonly at: number
  readonly ticks: number
}

export interface TurnCharge {
  readonly usage: MeteredUsage
  readonly tier: number
  readonly cost: NanoUsd
}

export type CloseOutcome =
  | {
      readonly kind: 'closed'
      readonly charge: NanoUsd
      readonly shortfall: NanoUsd
      readonly changes: readonly Change[]
    }
  /** No such hold is open: it was resolved before, by whomever. Nothing changes. */
  | { readonly kind: 'not-open' }

/** The one way a hold ends, for every ending of every endpoint. */
export function closeTurn(books: Books, op: CloseTurn): CloseOutcome {
  const turn = books.turns.get(op.requestId)
  if (!turn) return { kind: 'not-open' }
  const cost = op.charge?.cost ?? ZERO
  const { charge, shortfall } = chargeWithin(turn.hold, { cost })
  mustHold(charge >= 0n && charge <= turn.hold, 'a charge is within its hold')
  mustHold(
    turn.buckets.every(({ held }) => held >= turn.hold),
    'a hold ends where it was placed',
  )
  books.turns.delete(op.requestId)
  for (const bucket of turn.buckets) {
    bucket.held -= turn.hold
    bucket.posted -= charge
  }
  const usage = op.charge?.usage
  endUnderLimits(books, turn.limits, usage ? inputTokensOf(usage) + usage.output : 0, op.ticks)
  return { kind: 'closed', charge, shortfall, changes: changesOf(books, turn, op, { cost, charge, shortfall }) }
}

/** A charge never exceeds its hold; what cannot be collected is written down as shortfall, not hidden. */
export function chargeWithin(hold: NanoUsd, { cost }: Pick<TurnCharge, 'cost'>) {
  const charge = smallest(cost, hold)
  return { charge, shortfall: (cost - charge) as NanoUsd }
}

type Amounts = { readonly cost: NanoUsd; readonly charge: NanoUsd; readonly shortfall: NanoUsd }

function changesOf(books: Books, turn: OpenTurn, op: CloseTurn, amounts: Amounts): Change[] {
  const { charge } = amounts
  const account = booksOf(books, turn.account)
  const changes: Change[] = [
    {
      kind: 'receipt-closed',
      receipt: turn.receipt,
      account: turn.account,
      state: op.charge ? 'settled' : 'released',
      at: op.at,
      outcome: op.outcome,
      lane: op.lane,
      usage: op.charge?.usage,
      tier: op.charge?.tier,
      ...amounts,
      firstByteMs: op.firstByteMs,
      totalMs: op.totalMs,
      attempts: op.attempts,
      compaction: op.compaction,
      movement: nextMovement(account),
      balance: turn.buckets.find(({ unit }) => unit === 'usd')?.posted,
    },
  ]
  for (const { row, unit } of turn.buckets) {
    changes.push({ kind: 'bucket-moved', bucket: row, posted: -charge, held: -turn.hold })
    if (charge > 0n) changes.push({ kind: 'bucket-moved', bucket: SIDES[unit].used, posted: charge, held: 0n })
  }
  changes.push(...closeOutlived(books, account, turn, op.at))
  if (turn.claim !== undefined) changes.push(endClaim(books, turn.claim, claimStateOf(op)))
  return changes
}

/** Periods that only this turn kept from being closed, the oldest first. */
function closeOutlived(books: Books, account: AccountBooks, turn: OpenTurn, at: number): readonly Change[] {
  if (account.outlived.size === 0) return []
  return [...account.outlived]
    .filter((period) => period.held === 0n && turn.buckets.includes(period))
    .sort((one, other) => one.row - other.row)
    .flatMap((period) => closePeriod(books, account, period, at))
}

/** What was charged is never run again; what was not may be. */
const claimStateOf = ({ charge, kept }: CloseTurn) => (charge === undefined ? 'dropped' : kept ? 'kept' : 'not-kept')
