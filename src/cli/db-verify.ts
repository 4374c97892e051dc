import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { addClock } from './db-clock.ts'
import { EXIT } from './exit-codes.ts'
import { columnsOf, countOf, formatTable } from './format.ts'

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
