import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { EXIT } from './exit-codes.ts'

export function addCheck(program: Command, context: CommandContext): void {
  program
    .command('check')
    .description('read the configuration as the server would, and say what is wrong with it')
    .action(() => {
      const report = context.deps.checkConfig(context.place())
      const text = report.lines.map((line) => `${line}\n`).join('')
      // What is wrong is said on stderr, as by every command that meets the same file.
      context.print(report.json, report.ok ? { data: text } : { data: '', aside: text })
      context.end(report.ok ? EXIT.ok : EXIT.usage)
    })
}
