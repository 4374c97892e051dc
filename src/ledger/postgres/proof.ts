import { callLedger, type PostgresPool } from '../../db/postgres/pool.ts'
import { PROOF_RULE_NAMES } from '../../db/postgres/verify.ts'
import type { AccountRow } from '../../model/ids.ts'
import type { VerifyReport } from '../ledger.ts'

/** What one statement looks at. */
interface SliceSize {
  readonly movements: number
  readonly accounts: number
}

const SLICE: SliceSize = { movements: 2000, accounts: 500 }

/** Where the next slice begins; `carried` are the sums of an account that the last one has begun. */
interface Place {
  readonly first: number
  readonly carried: string | null
}

interface FindingsRow {
  readonly violations: Readonly<Record<string, number>>
}

interface SliceRow extends FindingsRow {
  readonly next: Place | null
  readonly suspects: readonly AccountRow[]
  readonly accounts: number
  readonly receipts: number
  readonly transfers: number
}

/**
 * Verifies the ledger in slices, each a short statement of its own. Every account has its own mark of how far it is proved:
 * `whole` begins at the first movement of each, and lifts the freeze of accounts that balance again; else a proof begins at the
 * marks. An account with a finding keeps its mark, so that the next proof finds it again, and is frozen.
 */
export async function proveOnPostgres(
  pool: PostgresPool,
  { whole }: { readonly whole: boolean },
  { movements, accounts }: SliceSize = SLICE,
): Promise<VerifyReport> {
  // No call is retried: the next proof goes on where this one has got.
  const violations = new Map(PROOF_RULE_NAMES.map((name) => [name, 0]))
  const add = (found: FindingsRow) => {
    for (const [name, count] of Object.entries(found.violations))
      violations.set(name, (violations.get(name) ?? 0) + count)
  }
  const suspects = new Set<AccountRow>()
  const read = { accounts: 0, receipts: 0, transfers: 0 }
  for (let next: Place | null = { first: 0, carried: null }; next !== null; ) {
    const values = [next.first, next.carried, whole, movements, accounts]
    const slice: SliceRow = await callLedger<SliceRow>(pool, 'prove_accounts($1, $2, $3, $4, $5)', values)
    add(slice)
    for (const account of slice.suspects) suspects.add(account)
    read.accounts += slice.accounts
    read.receipts += slice.receipts
    read.transfers += slice.transfers
    next = slice.next
  }
  add(await callLedger<FindingsRow>(pool, 'prove_shared()', []))
  const checks = [...violations].map(([name, count]) => ({ name, violations: count }))
  const all = checks.reduce((total, check) => total + check.violations, 0)
  return { ok: all === 0, violations: all, checks, suspects: [...suspects], ...read }
}
