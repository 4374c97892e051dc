import type { Command } from 'commander'
import { type DoctorReport, EXIT } from './cli-services.ts'
import type { CommandContext } from './command-context.ts'
import { alignColumns, countOf, printable, type Style } from './format.ts'

export function addDoctor(program: Command, context: CommandContext): void {
  program
    .command('doctor')
    .description('look for common faults of the set-up, each with its cure; exit 1 if something is broken')
    .option('--online', 'also send a short request to each provider; costs a few tokens there')
    .action(async ({ online }: { online?: true }) => {
      const report = await context.services.doctor(context.place(), { online: online === true })
      const { examined, skipped } = report
      const rows = alignColumns(examined.map(({ area, at }) => [`  ${area}`, at]))
      context.print(report, {
        data: context.pastable(formatFindings(context.style, report)),
        before: `Examined:\n${rows.join('\n')}\n${skipped.map((line) => `  ${context.pastable(line)}\n`).join('')}\n`,
      })
      context.end(report.ok ? EXIT.ok : EXIT.failure)
    })
}

/** Every finding with its reason and its cure, and a line for all. */
function formatFindings(style: Style, { findings }: DoctorReport): string {
  if (findings.length === 0) return `${style.green('No fault found.')}\n`
  const blocks = findings.map(({ fault, severity, message, why, cure }) => {
    const mark = severity === 'broken' ? style.red('broken ') : style.yellow('warning')
    const lines = message.split('\n').map(printable)
    return [
      `${mark}  ${lines.join('\n         ')}  ${style.dim(`[${fault}]`)}`,
      `         Why:  ${why}`,
      `         Cure: ${printable(cure)}`,
    ].join('\n')
  })
  const broken = findings.filter(({ severity }) => severity === 'broken').length
  const verdict = `${broken} broken, ${countOf(findings.length - broken, 'warning')}.`
  return `${blocks.join('\n\n')}\n\n${verdict}\n`
}
