import type { Clock } from '../../lib/clock.ts'
import { inUsd } from '../../model/money.ts'
import { findAccountByRow } from '../../store/accounts.ts'
import { codeWithdrawal, findCodeByDigest, findCodeById, type StoredCode } from '../../store/codes.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { done, type Outcome, refused } from '../outcome.ts'
import type { Trail } from '../trail/trail.ts'
import { readCodeText } from './code-text.ts'
import { type CodeView, codeView, noSuchCode } from './list-codes.ts'

export interface OneCode {
  /** The id, or the text itself: whoever finds a code in the wrong place has only that. */
  readonly code: string
}

export interface WithdrawCodeDeps {
  readonly db: LedgerDb
  readonly clock: Clock
  readonly trail: Trail
  readonly digestCode: (letters: string) => Uint8Array
}

/** A code that nobody has redeemed yet is worth nothing from now on. Withdrawing twice is what a lost answer leads to. */
export async function withdrawCode(deps: WithdrawCodeDeps, args: OneCode): Promise<Outcome<CodeView>> {
  const found = await findNamed(deps, args.code)
  if (found === undefined) {
    // The text of a code must not be said again in a message or a log, not even one that is mistyped.
    if (args.code.startsWith('code_')) return noSuchCode(args.code)
    return refused('code_not_found', 'There is no such code. See: millrace codes list')
  }
  const detail = `${found.shown}, ${inUsd(found.amount_nano)}`
  await deps.trail.act({ action: 'code_withdrawn', target: found.id, detail }, [
    codeWithdrawal(deps.db, found.row, deps.clock.now()),
  ])
  const after = await findCodeById(deps.db, found.id)
  if (after === undefined) throw new Error(`Code ${found.id} is not there after it was withdrawn`)
  if (after.redeemed_by === null) return done(codeView({ ...after, redeemer: null }, deps.clock.now()))
  const redeemer = await findAccountByRow(deps.db, after.redeemed_by)
  return refused(
    'code_redeemed',
    `${after.id} is redeemed already, by ${redeemer?.id}. To take it back: millrace wallet adjust`,
  )
}

async function findNamed(deps: WithdrawCodeDeps, named: string): Promise<StoredCode | undefined> {
  const read = readCodeText(named)
  return read.kind === 'code' ? findCodeByDigest(deps.db, deps.digestCode(read.letters)) : findCodeById(deps.db, named)
}
