import { type Command, Option } from 'commander'
import { EXIT } from './cli-deps.ts'
import { type CommandContext, parsePort } from './command-context.ts'
import { describeClock } from './db.ts'
import { formatFacts } from './format.ts'

interface ServeFlags {
  readonly host?: string
  readonly port?: number
  readonly metricsPort?: number
  readonly console: boolean
  readonly logLevel?: string
  readonly logFormat?: string
}

export function addServe(program: Command, context: CommandContext): void {
  program
    .command('serve')
    .description('start the server (what millrace alone does)')
    .option('--host <address>', 'address to listen on')
    .option('--port <number>', 'port to listen on', parsePort)
    .option('--metrics-port <number>', 'port of the metrics; 0 takes any free one', parsePort)
    .option('--no-console', 'do not serve the web console')
    .addOption(
      new Option('--log-level <level>', 'how much to log').choices(['debug', 'info', 'warn', 'error', 'silent']),
    )
    .addOption(new Option('--log-format <format>', 'how to log').choices(['auto', 'json', 'pretty']))
    .action(async (flags: ServeFlags) => {
      context.end(
        await context.deps.serve({
          ...context.place(),
          host: flags.host,
          port: flags.port,
          metricsPort: flags.metricsPort,
          console: flags.console ? undefined : 'false',
          logLevel: flags.logLevel,
          logFormat: flags.logFormat,
        }),
      )
    })
}

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
          ['clock', describeClock(status.clock)],
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
