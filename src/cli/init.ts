import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { EXIT } from './exit-codes.ts'

export function addInit(program: Command, context: CommandContext): void {
  program
    .command('init')
    .description('write a commented millrace.yaml to start from')
    .argument('[file]', 'where to', 'millrace.yaml')
    .option('-y, --yes', 'do not ask')
    .option('--force', 'replace a file that is there')
    .action(async (file: string, { yes, force }: { yes?: boolean; force?: boolean }) => {
      const path = context.place().config ?? file
      const { terminal } = context.deps
      if (yes !== true && terminal.interactive) {
        const answer = await terminal.ask(`Write ${path}? [Y/n] `)
        if (answer === undefined || /^n/i.test(answer.trim())) {
          context.fail(EXIT.failure, 'Nothing was written.')
          return
        }
      }
      const outcome = await context.deps.writeTemplate(path, { overwrite: force === true })
      if (outcome.kind === 'exists') {
        context.fail(EXIT.failure, `${outcome.path} is there already; --force replaces it.`)
        return
      }
      context.print(
        { path: outcome.path },
        { data: `Wrote ${outcome.path}\n`, aside: 'Fill in an upstream, then:  millrace check && millrace serve\n' },
      )
    })
}
