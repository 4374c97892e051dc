import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { formatTrace } from './format-trace.ts'

export function addTrace(program: Command, context: CommandContext): void {
  program
    .command('trace <request>')
    .description('all that is known about one request, by its req_ id')
    .action(async (request: string) => {
      await context.operate('requests.trace', { request }, (trace, style) => ({ data: formatTrace(style, trace) }))
    })
}
