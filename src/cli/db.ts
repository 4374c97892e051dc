import type { Command } from 'commander'
import type { ClockReport } from '../admin/ledger-maintenance.ts'
import type { ClockView } from '../admin/server-status.ts'
import { EXIT } from './cli-deps.ts'
import type { CommandContext } from './command-context.ts'
import { columnsOf, countOf, formatFacts, formatTable, type Style } from './format.ts'

export function addDb(program: Command, context: CommandContext): void {
  const db = program.command('db').description('the database')
  addClock(db, context)
  db.command('verify')
    .description('add the books up again and check the database files; exit 1 when they do not hold')
    .action(async () => {
      const report = await context.operate('db.verify', {}, (report, style) => ({
        data: report.ok
          ? `${style.green('The books hold.')} ${countOf(report.accounts, 'account')}, ${countOf(report.receipts, 'receipt')}, ${countOf(report.transfers, 'transfer')}, ${countOf(report.audited, 'act')} in the audit trail.\n`
          : `${style.red('The books do not hold:')} ${countOf(report.violations, 'violation')}.\n`,
        ...(!report.ok && {
          aside: formatTable(
            style,
            columnsOf('check', '>violations'),
            report.checks.map((check) => [check.name, String(check.violations)]),
          ).concat(frozenWords(report.frozen), damageWords(report.damage)),
        }),
        ...(report.ok && report.damage.length > 0 && { aside: damageWords(report.damage) }),
      }))
      if (report !== undefined && !report.ok) context.end(EXIT.failure)
    })
}

/** What it means for the accounts: the others go on. */
const frozenWords = (frozen: readonly string[]): string =>
  frozen.length === 0
    ? ''
    : `\nFrozen until they add up: ${frozen.join(', ')}. Their requests get ledger_unavailable; all others are served.\n`

const damageWords = (damage: readonly string[]): string => damage.map((words) => `${words}\n`).join('')

interface ClockOptions {
  readonly follow?: true
  readonly setBack?: true
}

function addClock(db: Command, context: CommandContext): void {
  db.command('clock')
    .description('ledger time and the wall clock, and what hangs on their difference')
    .option('--follow', 'follow a forward step of the wall clock now, without waiting for five minutes')
    .option('--set-back', 'set ledger time back to the wall clock, and put right what ends too late')
    .action(async ({ follow, setBack }: ClockOptions) => {
      if (follow && setBack) return context.fail(EXIT.usage, 'Give --follow or --set-back, not both.')
      const name = setBack ? 'db.clock.set-back' : follow ? 'db.clock.follow' : 'db.clock'
      await context.operate(name, {}, (report, style) => ({
        data: formatFacts(style, [
          ['ledger time', report.ledger_time],
          ['wall clock', report.wall_time],
          ['state', describeClock(report)],
        ]),
        aside: `${DID[report.did]}${aheadWords(style, report)}${lookWords(report)}`,
      }))
    })
}

const DID: Readonly<Record<ClockReport['did'], string>> = {
  show: '',
  follow: 'Ledger time follows the wall clock.\n',
  'set-back':
    'Ledger time was set back. Receipts, transfers and the audit log keep the times and amounts that they have.\n' +
    'Spend caps count from the first request after the clock jumped: what they had counted before is gone until their period ends.\n',
  nothing: 'Nothing to do. If both clocks are wrong, correct the clock of the machine first.\n',
}

/** How the clocks differ, in one line. */
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

function aheadWords(style: Style, { ahead, did }: ClockReport): string {
  const rows = ahead
    .filter(({ count }) => count > 0)
    .map(({ what, count }) => [what.replaceAll('_', ' '), String(count)])
  if (rows.length === 0) return ''
  return formatTable(style, columnsOf(did === 'set-back' ? 'put right' : 'begins or ends too late', '>rows'), rows)
}

const lookWords = ({ to_look_at: unclear }: ClockReport): string =>
  unclear
    .filter(({ count }) => count > 0)
    .map(({ what, count, ids }) => {
      const more = count > ids.length ? ` and ${count - ids.length} more` : ''
      return `Check when these ${what} end; a command cannot know what was meant: ${ids.join(', ')}${more}\n`
    })
    .join('')

function spanOf(seconds: number): string {
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`
}
