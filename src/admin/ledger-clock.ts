import { clockCorrectionInsert, LEDGER_TIMES_AHEAD, LEDGER_TIMES_UNCLEAR } from '../db/clock.ts'
import { CONTENT_TIMES_AHEAD } from '../db/content/content-ledger.ts'
import { oneReadAtATime } from '../db/sqlite/open-sqlite.ts'
import type { SqliteFile } from '../db/sqlite/sqlite-file.ts'
import { listTimesAhead, repairTimesAhead, type SetBack, type TimesAhead } from '../db/sqlite/times-ahead.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { type ClockStatus, STEP_MS, type SteadyClock } from '../lib/steady-clock.ts'
import type { ActorLog } from './audit.ts'
import { done, type Outcome } from './outcome.ts'
import { isoTime } from './values.ts'

export interface LedgerClockDeps {
  readonly ledgerClock: SteadyClock
  readonly ledger: Pick<Ledger, 'whileClosed'>
  readonly auditLog: ActorLog
  /** The two files whose rows have times. */
  readonly files: { readonly ledger: SqliteFile; readonly content: SqliteFile }
  /** Sessions, keys and what is known of their plans are read again. */
  readonly forgetAll: () => void
}

export interface ClockView {
  /** `together`, `step` (not followed yet), `catching-up` or `ahead`. */
  readonly state: ClockStatus['state']
  readonly ledger_time: string
  readonly wall_time: string
  /** How far ledger time is ahead of the wall clock; negative while a step is not followed. */
  readonly ahead_seconds: number
  readonly follows_in_seconds: number | null
}

export interface ClockReport extends ClockView {
  /** What this command did. `nothing`: the clocks agree, or the difference is in the other direction. */
  readonly did: 'show' | 'follow' | 'set-back' | 'nothing'
  /** Rows with times after the wall clock; after `--set-back`: how many were put right. */
  readonly ahead: readonly { readonly what: string; readonly count: number }[]
  /** What only a person can judge: ends that were given while ledger time was ahead. At most 20 ids of each. */
  readonly to_look_at: readonly { readonly what: string; readonly count: number; readonly ids: readonly string[] }[]
}

const IDS_SHOWN = 20

export function clockView({ state, ledgerMs, wallMs, followsInMs }: ClockStatus): ClockView {
  return {
    state,
    ledger_time: isoTime(ledgerMs),
    wall_time: isoTime(wallMs),
    ahead_seconds: Math.round((ledgerMs - wallMs) / 1000),
    follows_in_seconds: followsInMs === undefined ? null : Math.ceil(followsInMs / 1000),
  }
}

/** How ledger time and the wall clock differ, and what hangs on it. Where they agree, nothing does and no row is read. */
export const showClock = async (deps: LedgerClockDeps): Promise<Outcome<ClockReport>> =>
  done(await reportClock(deps, 'show'))

async function reportClock(deps: LedgerClockDeps, did: ClockReport['did']): Promise<ClockReport> {
  const standing = deps.ledgerClock.standing()
  const setBack = setBackOf(standing)
  return {
    ...clockView(standing),
    did,
    ahead: setBack === undefined ? [] : await countAhead(deps, setBack),
    to_look_at: setBack === undefined ? [] : await listUnclear(deps, setBack),
  }
}

/** Follows a forward step of the wall clock that has not held for long enough yet. */
export async function followClock(deps: LedgerClockDeps): Promise<Outcome<ClockReport>> {
  const { state, ledgerMs, wallMs } = deps.ledgerClock.standing()
  if (state !== 'step') return done(await reportClock(deps, 'nothing'))
  await deps.auditLog.announce({ action: 'clock_followed', detail: `${isoTime(ledgerMs)} to ${isoTime(wallMs)}` })
  deps.ledgerClock.follow()
  return done(await reportClock(deps, 'follow'))
}

/**
 * Sets ledger time back to the wall clock. First every row is put right that rights depend on, then it is recorded which rows
 * were written under the wrong time, together with the line of the audit trail; only then time goes back. A crash in between
 * leaves ledger time ahead, and the command can be given again.
 */
export async function setClockBack(deps: LedgerClockDeps): Promise<Outcome<ClockReport>> {
  const setBack = setBackOf(deps.ledgerClock.standing())
  if (setBack === undefined) return done(await reportClock(deps, 'nothing'))
  const repaired = await deps.ledger.whileClosed(async () => {
    const content = await mendAll(deps.files.content, CONTENT_TIMES_AHEAD, setBack)
    const ledger = await mendAll(deps.files.ledger, LEDGER_TIMES_AHEAD, setBack)
    const all = [...ledger, ...content]
    const counts = all.filter(({ count }) => count > 0).map(({ what, count }) => `${count} ${what}`)
    const detail = `${isoTime(setBack.from)} to ${isoTime(setBack.to)}: ${counts.join(', ') || 'no rows'}`
    const recorded = [clockCorrectionInsert(setBack.from, setBack.to)]
    if (!(await deps.auditLog.act({ action: 'clock_set_back', detail }, recorded)))
      throw new Error('That ledger time goes back could not be recorded; it did not. Give the command again.')
    deps.ledgerClock.setBack()
    return all
  })
  deps.forgetAll()
  return done({
    ...clockView(deps.ledgerClock.standing()),
    did: 'set-back',
    ahead: repaired,
    to_look_at: await listUnclear(deps, setBack),
  })
}

function setBackOf({ ledgerMs, wallMs }: ClockStatus): SetBack | undefined {
  return ledgerMs - wallMs > STEP_MS ? { from: ledgerMs, to: wallMs } : undefined
}

async function mendAll(file: SqliteFile, tables: readonly TimesAhead[], setBack: SetBack) {
  const repaired: { what: string; count: number }[] = []
  for (const table of tables) repaired.push({ what: table.what, count: await repairTimesAhead(file, table, setBack) })
  return repaired
}

async function countAhead({ files, ledgerClock }: LedgerClockDeps, setBack: SetBack): Promise<ClockReport['ahead']> {
  // Clients who pay do not wait behind a report.
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

async function listUnclear(
  { files, ledgerClock }: LedgerClockDeps,
  setBack: SetBack,
): Promise<ClockReport['to_look_at']> {
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
