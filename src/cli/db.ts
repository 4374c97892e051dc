import type { Command } from 'commander'
import type { ClockReport } from '../admin/ledger-maintenance.ts'
import type { ClockView } from '../admin/server-status.ts'
import { type BackupCounts, type BackupReport, EXIT, type MoveReport } from './cli-services.ts'
import type { CommandContext, Shown } from './command-context.ts'
import { columnsOf, countOf, formatFacts, formatTable, type Style } from './format.ts'

interface ClockOptions {
  readonly follow?: true
  readonly setBack?: true
}

export function addDb(program: Command, context: CommandContext): void {
  const db = program.command('db').description('maintain the database')
  db.command('clock')
    .description('show ledger time and the wall clock, and count what begins or ends too late because they differ')
    .option('--follow', 'follow a forward step of the wall clock now instead of after five minutes')
    .option('--set-back', 'set ledger time back to the wall clock, and repair times that are too late')
    .action(async ({ follow, setBack }: ClockOptions) => {
      if (follow && setBack) return context.fail(EXIT.usage, 'Give --follow or --set-back, not both.')
      const name = setBack ? 'db.clock.set-back' : follow ? 'db.clock.follow' : 'db.clock'
      await context.operate(name, {}, (report, style) => ({
        data: formatFacts(style, [
          ['ledger time', report.ledger_time],
          ['wall clock', report.wall_time],
          ['state', describeClock(report)],
        ]),
        note: `${DID[report.did]}${formatAhead(style, report)}${formatUnclear(report)}`,
      }))
    })
  db.command('verify')
    .description('verify the ledger and check the database files; exit 1 if the ledger does not balance')
    .action(async () => {
      await context.operate('db.verify', {}, (report, style) => {
        const damage = report.damage.map((line) => `${line}\n`).join('')
        if (report.ok) {
          const counts = [
            ...[countOf(report.accounts, 'account'), countOf(report.receipts, 'receipt')],
            ...[countOf(report.transfers, 'transfer'), countOf(report.audited, 'audit entry', 'audit entries')],
          ]
          return { data: `${style.green('The ledger balances.')} ${counts.join(', ')}.\n`, note: damage }
        }
        context.end(EXIT.failure)
        const rows = report.checks.map(({ name, violations }) => [name, String(violations)])
        const frozen =
          report.frozen.length === 0
            ? ''
            : `\nFrozen until they balance: ${report.frozen.join(', ')}. Their requests get ledger_unavailable; other accounts are not affected.\n`
        return {
          data: `${style.red('The ledger does not balance:')} ${countOf(report.violations, 'violation')}.\n`,
          note: `${formatTable(style, columnsOf('check', '>violations'), rows)}${frozen}${damage}`,
        }
      })
    })
  addBackup(db, context)
  addRestore(db, context)
  addMove(db, context)
}

/** Says on standard error what begins, for those who wait. */
const stepsOf =
  ({ json, services }: CommandContext) =>
  (step: string): void => {
    if (!json) services.terminal.err(`${step} …\n`)
  }

const RING_IS: Readonly<Record<BackupReport['key_ring'], string>> = {
  file: 'keyring.json, in the backup: keep the backup as secret as the key ring',
  environment: 'MILLRACE_SECRET_KEY, not in the backup: keep it elsewhere',
  apart: 'keyring.json, not in the backup: keep it elsewhere',
}

function addBackup(db: Command, context: CommandContext): void {
  db.command('backup')
    .description('write a verified backup into a new folder, with or without a running server')
    .requiredOption('--to <folder>', 'folder to create; the one above it exists')
    .option('--without-key-ring', 'leave keyring.json out, to keep it apart')
    .action(async ({ to, withoutKeyRing }: { readonly to: string; readonly withoutKeyRing?: true }) => {
      const request = { to, withKeyring: withoutKeyRing !== true, onStep: stepsOf(context) }
      const outcome = await context.services.backUpLedger(context.place(), request)
      if (outcome.kind === 'refused') return context.fail(outcome.exit, outcome.message)
      const { report } = outcome
      context.print(report, {
        data: formatFacts(context.style, [
          ['backup', report.folder],
          ['of', report.taken_at],
          ['size', `${Math.ceil(report.bytes / 1024 / 1024)} MiB`],
          ['key ring', RING_IS[report.key_ring]],
          ...countFacts(report.counts),
        ]),
        note: `${context.style.green('The copy balances, is undamaged, and opens with its key ring.')}\n`,
      })
    })
}

const countFacts = (counts: BackupCounts): (readonly [string, string])[] => [
  ['accounts', String(counts.accounts)],
  ['receipts', `${counts.receipts}, ${counts.open_requests} of them of requests that were running`],
  ['transfers', String(counts.transfers)],
]

function addRestore(db: Command, context: CommandContext): void {
  db.command('restore')
    .description('copy a backup into a data folder that has no ledger; overwrites nothing')
    .requiredOption('--from <folder>', 'folder that db backup has written')
    .action(async ({ from }: { readonly from: string }) => {
      const outcome = await context.services.restoreLedger(context.place(), { from, onStep: stepsOf(context) })
      if (outcome.kind === 'refused') return context.fail(outcome.exit, outcome.message)
      const { report } = outcome
      const warnings = report.warnings.map((warning) => `${context.style.yellow('warning:')} ${warning}\n`)
      context.print(report, {
        data: formatFacts(context.style, [
          ['restored', report.data],
          ['as of', report.taken_at],
          ...countFacts(report.counts),
        ]),
        note: [...warnings, ...report.next.map((step) => `${step}\n`)].join(''),
      })
    })
}

interface MoveOptions {
  readonly to: string
}

function addMove(db: Command, context: CommandContext): void {
  db.command('move')
    .description('copy a stopped ledger with everything that belongs to it into PostgreSQL, or back into a folder')
    .requiredOption('--to <target>', 'postgres://user:password@host/name, or a folder; it has to be empty')
    .action(async ({ to }: MoveOptions) => {
      const outcome = await context.services.moveLedger(context.place(), { to, onStep: stepsOf(context) })
      if (outcome.kind === 'refused') return context.fail(outcome.exit, outcome.message)
      const { report } = outcome
      if (!report.ok) context.end(EXIT.failure)
      context.print(report, showMove(context.style, report))
    })
}

function showMove(style: Style, { ok, tables, checks, next }: MoveReport): Shown {
  const rows = tables.map(({ table, rows, equal }) => [table, String(rows), equal ? 'yes' : style.red('no')])
  const broken = checks.filter(({ violations }) => violations > 0)
  const data = formatTable(style, columnsOf('table', '>rows', 'equal'), rows)
  if (ok) return { data, note: [style.green('All rows are equal, and the ledger balances.'), ...next, ''].join('\n') }
  const violations = broken.map(({ name, violations }) => `${name}: ${countOf(violations, 'violation')}`)
  const what = 'Not moved: the target differs or does not balance, and nothing starts on it. Nothing was changed here.'
  return { data, note: [style.red(what), ...violations, ''].join('\n') }
}

const DID: Readonly<Record<ClockReport['did'], string>> = {
  show: '',
  follow: 'Ledger time follows the wall clock.\n',
  'set-back':
    'Ledger time was set back. Receipts, transfers and the audit log keep their times and amounts.\n' +
    'Spend caps count from the first request after the clock jump: earlier spending of their current period is lost.\n',
  nothing: 'Nothing to do. If both clocks are wrong, correct the clock of the machine first.\n',
}

/** The difference of the clocks in one line. */
export function describeClock({ state, ahead_seconds, follows_in_seconds }: ClockView): string {
  switch (state) {
    case 'together':
      return 'ledger time follows the wall clock'
    case 'step':
      return `the wall clock stepped ${spanOf(-ahead_seconds)} forward; ledger time follows in ${spanOf(follows_in_seconds ?? 0)}, or now with: millrace db clock --follow`
    case 'catching-up':
      return `the wall clock is ${spanOf(ahead_seconds)} behind; ledger time runs at half speed until it has caught up`
    case 'ahead':
      return `ledger time is ${spanOf(ahead_seconds)} ahead of the wall clock; to repair: millrace db clock --set-back`
  }
}

function formatAhead(style: Style, { ahead, did }: ClockReport): string {
  const rows = ahead
    .filter(({ count }) => count > 0)
    .map(({ what, count }) => [what.replaceAll('_', ' '), String(count)])
  if (rows.length === 0) return ''
  return formatTable(style, columnsOf(did === 'set-back' ? 'repaired' : 'begins or ends too late', '>rows'), rows)
}

const formatUnclear = ({ to_look_at: unclear }: ClockReport): string =>
  unclear
    .filter(({ count }) => count > 0)
    .map(({ what, count, ids }) => {
      const more = count > ids.length ? ` and ${count - ids.length} more` : ''
      return `Check when these ${what} end, which only you can know: ${ids.join(', ')}${more}\n`
    })
    .join('')

function spanOf(seconds: number): string {
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`
}
