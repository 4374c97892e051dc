import { type Command, Option } from 'commander'
import type { CommandContext } from './command-context.ts'
import { parsePort } from './option-values.ts'

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
