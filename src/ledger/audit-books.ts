import type { AccountRow } from '../model/ids.ts'
import { listFrozen, setFrozen } from '../store/accounts.ts'
import { findProof, recordProof, recordSums } from '../store/proofs.ts'
import type { LedgerCore } from './core.ts'
import { replayJournal } from './record.ts'
import { NOTHING_PROVED, type VerifyReport, verifyBooks } from './verify-books.ts'

/**
 * Proves the books and acts on it: an account that does not add up is frozen, and nobody else is touched. `whole` begins
 * at the first row and lifts the freeze of accounts that add up again; else only what has come since the last proof is
 * read. Only a proof without a finding moves the mark.
 */
export async function auditBooks(core: LedgerCore, { whole }: { readonly whole: boolean }): Promise<VerifyReport> {
  const before = await findProof(core.db)
  const { report, proved } = await verifyBooks({
    db: core.patientDb,
    since: whole ? NOTHING_PROVED : before,
    keep: (sums) => recordSums(core.file, sums),
    ticks: core.ticks,
  })
  for (const account of report.suspects) await freeze(core, account)
  if (whole) await thawAllBut(core, new Set(report.suspects))
  // What could not be recorded while they were frozen.
  if (whole && !core.journaled.isEmpty && core.gate.open) await replayJournal(core)
  if (report.ok) await recordProof(core.file, proved)
  return report
}

export async function freeze(core: LedgerCore, account: AccountRow): Promise<void> {
  await core.shelf.withBooks(account, () => {
    // In memory first: from the moment at which the file says so, nobody may find it there without.
    setFrozenInMemory(core, account, { frozen: true })
    return setFrozen(core.file, account, core.now())
  })
}

async function thawAllBut(core: LedgerCore, suspects: ReadonlySet<AccountRow>): Promise<void> {
  for (const { row } of await listFrozen(core.db)) {
    const account = row as AccountRow
    if (suspects.has(account)) continue
    await setFrozen(core.file, account, null)
    setFrozenInMemory(core, account, { frozen: false })
  }
}

function setFrozenInMemory(core: LedgerCore, account: AccountRow, { frozen }: { readonly frozen: boolean }): void {
  const books = core.books.accounts.get(account)
  if (books) books.frozen = frozen
}
