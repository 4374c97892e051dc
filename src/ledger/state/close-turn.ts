import type { Ending, Owed } from '../../model/ending.ts'
import type { RequestId } from '../../model/ids.ts'
import { type NanoUsd, smallest, ZERO } from '../../model/money.ts'
import { inputTokensOf } from '../../model/usage.ts'
import { endClaim } from './admit-turn.ts'
import { closePeriod, countCharge, mustCountHold } from './allowances.ts'
import {
  type AccountState,
  accountStateOf,
  assertRule,
  type Change,
  type LedgerState,
  nextMovement,
  type OpenTurn,
} from './state.ts'
import { endUnderLimits } from './turn-limits.ts'

/** How an open turn ends: it is charged what it owes, or its hold goes back whole. */
export interface CloseTurn {
  readonly requestId: RequestId
  readonly ending: Ending
  readonly at: number
  readonly nowMicros: number
}

export interface Charged {
  readonly charge: NanoUsd
  readonly shortfall: NanoUsd
}

export type CloseOutcome =
  | ({ readonly kind: 'closed'; readonly changes: readonly Change[] } & Charged)
  /** No such hold is open: it was resolved before, by whomever. Nothing changes. */
  | { readonly kind: 'not-open' }

/** The one way a hold ends, for every ending of every endpoint. */
export function closeTurn(ledgerState: LedgerState, op: CloseTurn): CloseOutcome {
  const turn = ledgerState.turns.get(op.requestId)
  if (!turn) return { kind: 'not-open' }
  const { owed } = op.ending
  const { charge, shortfall } = chargeWithin(turn.hold, owed)
  assertRule(charge >= 0n && charge <= turn.hold, 'a charge is within its hold')
  assertRule(
    turn.buckets.every(({ held }) => held >= turn.hold),
    'a hold ends where it was placed',
  )
  mustCountHold(turn)
  ledgerState.turns.delete(op.requestId)
  for (const bucket of turn.buckets) {
    bucket.held -= turn.hold
    bucket.posted -= charge
  }
  endUnderLimits(ledgerState, turn.limits, owed ? inputTokensOf(owed.usage) + owed.usage.output : 0, op.nowMicros)
  return { kind: 'closed', charge, shortfall, changes: changesOf(ledgerState, turn, op, { charge, shortfall }) }
}

/** A charge never exceeds its hold; what cannot be collected is written down as shortfall, not hidden. */
export function chargeWithin(hold: NanoUsd, owed: Pick<Owed, 'cost'> | undefined): Charged {
  const cost = owed?.cost ?? ZERO
  const charge = smallest(cost, hold)
  return { charge, shortfall: (cost - charge) as NanoUsd }
}

function changesOf(ledgerState: LedgerState, turn: OpenTurn, op: CloseTurn, charged: Charged): Change[] {
  const { charge } = charged
  const account = accountStateOf(ledgerState, turn.account)
  const changes: Change[] = [
    {
      kind: 'receipt-closed',
      receipt: turn.receipt,
      account: turn.account,
      at: op.at,
      ending: op.ending,
      ...charged,
      movement: nextMovement(account),
      balance: turn.buckets.find(({ unit }) => unit === 'usd')?.posted,
    },
  ]
  for (const { row } of turn.buckets) {
    changes.push({ kind: 'bucket-moved', bucket: row, posted: -charge, held: -turn.hold })
  }
  if (turn.counted.length > 0) changes.push(...countCharge(turn, charge))
  changes.push(...closeOutlived(ledgerState, account, turn, op.at))
  if (turn.claim !== undefined) changes.push(endClaim(ledgerState, turn.claim, claimStateOf(op.ending)))
  return changes
}

/** Periods that only this turn kept from being closed, the oldest first. */
function closeOutlived(ledgerState: LedgerState, account: AccountState, turn: OpenTurn, at: number): readonly Change[] {
  if (account.outlived.size === 0) return []
  return [...account.outlived]
    .filter((period) => period.held === 0n && turn.buckets.includes(period))
    .sort((one, other) => one.row - other.row)
    .flatMap((period) => closePeriod(ledgerState, account, period, at))
}

/** What was charged is never run again; what was not may be. */
const claimStateOf = ({ owed, kept }: Ending) => (owed === undefined ? 'dropped' : kept ? 'kept' : 'not-kept')
