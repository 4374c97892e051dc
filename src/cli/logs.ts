import type { Command } from 'commander'
import { prettyLine } from '../telemetry/log.ts'
import { EXIT } from './cli-services.ts'
import type { CommandContext } from './command-context.ts'

interface LogsOptions {
  readonly follow?: true
  readonly account?: string
  readonly errors?: true
}

const LOOK_MS = 250

export function addLogs(program: Command, context: CommandContext): void {
  program
    .command('logs')
    .description('follow the log of the running server, whatever its level, until it stops or Ctrl+C')
    .option('--follow', 'required: older lines are where standard output of the server goes')
    .option('--account <account>', 'only the requests of one account: id or email')
    .option('--errors', 'only refused and failed requests, warnings and errors')
    .action(async ({ follow, ...filter }: LogsOptions) => {
      if (!follow)
        return context.fail(
          EXIT.usage,
          'The server writes its log to standard output and keeps none: read it there (journalctl, docker logs). To see what comes now: millrace logs --follow',
        )
      await followLog(context, filter)
    })
}

/** Asks for new lines several times a second. The server keeps a bounded number of them and never waits for a reader. */
async function followLog(context: CommandContext, filter: Omit<LogsOptions, 'follow'>): Promise<void> {
  const { operator, terminal, pause } = context.services
  const next = new Map<number, string>()
  for (;;) {
    const answer = await operator.callEach(context.place(), 'logs.read', (worker) => {
      const after = next.get(worker)
      return after === undefined ? filter : { ...filter, after }
    })
    if (answer.kind !== 'done') {
      const exit = answer.kind === 'refused' ? EXIT.failure : answer.exit
      const isGone = next.size > 0 && exit === EXIT.notRunning
      return context.fail(exit, isGone ? 'The server has stopped.' : answer.message)
    }
    for (const { worker, value } of answer.value) {
      if (value.lost > 0) terminal.err(`${value.lost} lines were not read in time and are lost here.\n`)
      terminal.out(value.lines.map((line) => (context.json ? line : prettyLine(line))).join(''))
      next.set(worker, value.next)
    }
    if (!answer.value.some(({ value }) => value.more)) await pause(LOOK_MS)
  }
}
