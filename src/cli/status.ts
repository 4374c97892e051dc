import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { clockWords } from './db-clock.ts'
import { EXIT } from './exit-codes.ts'
import { formatFacts } from './format.ts'

export function addStatus(program: Command, context: CommandContext): void {
  program
    .command('status')
    .description('whether a server runs on this data folder, and how it is; exit 3 when none does')
    .action(async () => {
      const found = await context.operate('status', {}, (status, style) => {
        if (!status.running)
          return {
            data: `${style.yellow('Not running.')}\n`,
            aside: `Data folder: ${status.data}${status.has_ledger === false ? ', which has no Millrace data: is it the right one?' : ''}\n${asideWords(status.set_aside)}`,
          }
        const state = status.draining ? style.yellow('Stopping.') : style.green('Running.')
        const facts = formatFacts(style, [
          ['api', `${status.public_url ?? status.url}/v1`],
          ['version', `${status.version} (node ${status.node}, ${status.driver})`],
          ['pid', String(status.pid)],
          ['since', status.started_at],
          ['config', status.config],
          ...(status.reload_refused === null
            ? []
            : [
                [
                  '',
                  style.red(`the file on disk was refused: ${status.reload_refused.replace(/\s*\n\s*/g, '; ')}`),
                ] as [string, string],
              ]),
          ['data', status.data],
          ['books', status.ledger_available ? 'open' : 'not available'],
          ['clock', clockWords(status.clock)],
          ['models', String(status.models)],
          ['requests', `${status.requests_running} running, ${status.requests_served} served`],
        ])
        return { data: `${state}\n${facts}`, aside: asideWords(status.set_aside) }
      })
      if (found?.running === false) context.end(EXIT.notRunning)
    })
}

/** They hold what was not served any more; whoever has looked at them may delete them. */
const asideWords = (files: readonly string[] = []): string =>
  files.length === 0 ? '' : `Set aside, and not served: ${files.join(', ')}\n`
