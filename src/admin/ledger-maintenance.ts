import { listFrozen } from '../db/accounts.ts'
import {
  clockCorrectionInsert,
  LEDGER_TIMES_AHEAD,
  LEDGER_TIMES_UNCLEAR,
  listTimesAhead,
  repairTimesAhead,
  type SetBack,
  type TimesAhead,
} from '../db/clock.ts'
import { CONTENT_TIMES_AHEAD } from '../db/content/open-content.ts'
import type { SqlStore } from '../db/sql-store.ts'
import { oneReadAtATime } from '../db/sqlite/open-sqlite.ts'
import { type ClockStatus, STEP_MS } from '../lib/clock.ts'
import { verifyAudit } from './audit.ts'
import { done, type Outcome, refuseOperation } from './outcome.ts'
import { type ClockView, clockView } from './server-status.ts'
import type { AdminServices } from './services.ts'
import { isoTime } from './values.ts'

export interface ClockReport extends ClockView {
  /** What this command did. `nothing`: the clocks agree, or differ in the other direction. */
  readonly did: 'show' | 'follow' | 'set-back' | 'nothing'
  /** Rows with times after the wall clock; after `--set-back`: how many were repaired. */
  readonly ahead: readonly { readonly what: string; readonly count: number }[]
  /** Ends that were set while ledger time was ahead, for a person to check. At most 20 ids of each. */
  readonly to_look_at: readonly { readonly what: string; readonly count: number; readonly ids: readonly string[] }[]
}

const IDS_SHOWN = 20

/** How ledger time and the wall clock differ, and which rows depend on it. If they agree, no row is read. */
export const showClock = async (services: AdminServices) => done(await reportClock(services, 'show'))

async function reportClock(services: AdminServices, did: ClockReport['did']): Promise<ClockReport> {
  const status = services.ledgerClock.status()
  const setBack = services.ledger.whileClosed && setBackOf(status)
  return {
    ...clockView(status),
    did,
    ahead: setBack === undefined ? [] : await countAhead(services, setBack),
    to_look_at: setBack === undefined ? [] : await listUnclear(services, setBack),
  }
}

/** Follows a forward step of the wall clock now, without the usual wait. */
export async function followClock(services: AdminServices) {
  const { ledgerClock, auditLog } = services
  const { state, ledgerMs, wallMs } = ledgerClock.status()
  if (state !== 'step') return done(await reportClock(services, 'nothing'))
  await auditLog.announce({ action: 'clock_followed', detail: `${isoTime(ledgerMs)} to ${isoTime(wallMs)}` })
  ledgerClock.follow()
  return done(await reportClock(services, 'follow'))
}

/**
 * Sets ledger time back to the wall clock. First it repairs every row that rights depend on, then it records which rows were
 * written under the wrong time, together with the audit entry; only then time goes back. After a crash in between, ledger time
 * is still ahead and the command can be repeated.
 */
export async function setClockBack(services: AdminServices): Promise<Outcome<ClockReport>> {
  const { ledgerClock, ledger, auditLog, files } = services
  if (ledger.whileClosed === undefined)
    return refuseOperation(
      'database_keeps_time',
      'The clock of PostgreSQL decides. Correct the clock of the machine it runs on.',
    )
  const setBack = setBackOf(ledgerClock.status())
  if (setBack === undefined) return done(await reportClock(services, 'nothing'))
  const repaired = await ledger.whileClosed(async () => {
    const content = await repairAll(files.content, CONTENT_TIMES_AHEAD, setBack)
    const all = [...(await repairAll(files.ledger, LEDGER_TIMES_AHEAD, setBack)), ...content]
    const counts = all.filter(({ count }) => count > 0).map(({ what, count }) => `${count} ${what}`)
    const detail = `${isoTime(setBack.from)} to ${isoTime(setBack.to)}: ${counts.join(', ') || 'no rows'}`
    const recorded = [clockCorrectionInsert(setBack.from, setBack.to)]
    if (!(await auditLog.act({ action: 'clock_set_back', detail }, recorded)))
      throw new Error(
        'The clock correction could not be recorded, so ledger time was not set back. Repeat the command.',
      )
    ledgerClock.setBack()
    return all
  })
  services.forgetAll()
  return done({
    ...clockView(ledgerClock.status()),
    did: 'set-back',
    ahead: repaired,
    to_look_at: await listUnclear(services, setBack),
  })
}

const setBackOf = ({ ledgerMs, wallMs }: ClockStatus): SetBack | undefined =>
  ledgerMs - wallMs > STEP_MS ? { from: ledgerMs, to: wallMs } : undefined

async function repairAll(file: SqlStore, tables: readonly TimesAhead[], setBack: SetBack) {
  const repaired: { what: string; count: number }[] = []
  for (const table of tables) repaired.push({ what: table.what, count: await repairTimesAhead(file, table, setBack) })
  return repaired
}

async function countAhead({ files, ledgerClock }: AdminServices, setBack: SetBack): Promise<ClockReport['ahead']> {
  // A report must not delay paying requests.
  const ledger = oneReadAtATime(files.ledger, ledgerClock)
  const content = oneReadAtATime(files.content, ledgerClock)
  const places = [
    ...LEDGER_TIMES_AHEAD.map((table) => ({ file: ledger, table })),
    ...CONTENT_TIMES_AHEAD.map((table) => ({ file: content, table })),
  ]
  const counted: { what: string; count: number }[] = []
  for (const { file, table } of places) {
    let count = 0
    for await (const rows of listTimesAhead(file, table, setBack)) count += rows.length
    counted.push({ what: table.what, count })
  }
  return counted
}

async function listUnclear({ files, ledgerClock }: AdminServices, setBack: SetBack) {
  const file = oneReadAtATime(files.ledger, ledgerClock)
  const unclear: { what: string; count: number; ids: string[] }[] = []
  for (const table of LEDGER_TIMES_UNCLEAR) {
    const ids: string[] = []
    let count = 0
    for await (const rows of listTimesAhead(file, table, setBack)) {
      count += rows.length
      ids.push(...rows.slice(0, IDS_SHOWN - ids.length).map(({ id }) => String(id)))
    }
    unclear.push({ what: table.what, count, ids })
  }
  return unclear
}

/**
 * Verifies the whole ledger and the audit log. An imbalance is a result, not a failure. Accounts that do not balance are
 * frozen, and those that balance again are released.
 */
export async function verifyLedger(services: AdminServices) {
  const files = (await services.checkFiles?.()) ?? []
  const checks = files.map(({ file, report }) => ({
    name: `${file} is undamaged`,
    violations: report.kind === 'checked' ? report.findings.length : 0,
  }))
  const violations = checks.reduce((sum, check) => sum + check.violations, 0)
  const damage = files.flatMap(({ file, report }) =>
    report.kind === 'checked'
      ? report.findings.map((finding) => `${file}: ${finding}`)
      : [`${file}: not checked, because it was written to too often. Repeat the command under less load.`],
  )
  try {
    const rows = await verifyRows(services)
    return done({
      ...rows,
      ok: rows.ok && violations === 0,
      violations: rows.violations + violations,
      checks: [...rows.checks, ...checks],
      /** Damage of the database files, and checks that had to be abandoned. */
      damage,
    })
  } catch (error) {
    if (violations === 0) throw error
    // A damaged file may fail to read.
    const unread = { name: 'the rows can be read', violations: 1 }
    return done({
      ...{ ok: false, violations: violations + 1, checks: [unread, ...checks], damage },
      ...{ accounts: 0, receipts: 0, transfers: 0, frozen: [], audited: 0, audit_head: '' },
    })
  }
}

async function verifyRows({ db, ledger }: AdminServices) {
  const { suspects: _, ...report } = await ledger.audit({ whole: true })
  const audit = await verifyAudit({ db })
  const where = audit.broken_at === null ? '' : ` (first at ${audit.broken_at})`
  const unbroken = { name: `the audit log is one unbroken chain${where}`, violations: audit.violations }
  return {
    ...report,
    ok: report.ok && audit.violations === 0,
    violations: report.violations + audit.violations,
    checks: [...report.checks, unbroken],
    /** Accounts whose money is frozen until they balance again. */
    frozen: (await listFrozen(db)).map(({ id }) => id),
    /** Entries in the audit log. */
    audited: audit.rows,
    /** The hash of the last entry: noted elsewhere, it later shows whether the end of the log was cut off. */
    audit_head: audit.head,
  }
}

/** Copies the files of the ledger into a new folder, for the backup that will be called `to`. */
export async function copyForBackup(
  { copyFiles, auditLog }: AdminServices,
  { to, ...copy }: { readonly to: string; readonly folder: string; readonly key_ring: boolean },
) {
  if (copyFiles === undefined) return refuseOperation('backup_refused', POSTGRES_BACKS_UP)
  // Before the copy, which then has it.
  return copyFiles({ ...copy, begin: () => auditLog.announce({ action: 'backup_begun', detail: to }) })
}

export const POSTGRES_BACKS_UP =
  'The ledger is in PostgreSQL (storage.database), which is backed up with its own tools: pg_basebackup with an archive of its log, or ' +
  'pg_dump; and the key ring apart. See docs/operate/postgres.md, Backup.'
