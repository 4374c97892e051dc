import { Command, CommanderError } from 'commander'
import { addAccounts } from './accounts.ts'
import { addApply } from './apply.ts'
import { addCatalog } from './catalog.ts'
import { type CliServices, EXIT, type ExitCode } from './cli-services.ts'
import { type CommandContext, createCommandContext } from './command-context.ts'
import { addDb } from './db.ts'
import { addAdminKeys, addKeys } from './keys.ts'
import { addManaged } from './managed.ts'
import { addModels, addRoute, addUpstreams } from './models.ts'
import { addMail, addNotices, addWebhooks } from './notices.ts'
import { addInvoice, addOverview } from './overview.ts'
import { addPeople, addTeams } from './people.ts'
import { addPlans } from './plans.ts'
import { addCheck, addDoctor, addInit, addServe, addStatus } from './serve.ts'
import { addTop } from './top.ts'
import { addLogs, addTrace } from './trace.ts'
import { addGauge, addUsage } from './usage.ts'
import { addCodes, addPayments, addWallet } from './wallet.ts'

/** In the order of the help. */
const COMMANDS = [
  ...[
    addServe,
    addAccounts,
    addApply,
    addWallet,
    addKeys,
    addCodes,
    addPlans,
    addPayments,
    addPeople,
    addTeams,
    addManaged,
    addAdminKeys,
    addRoute,
    addNotices,
    addWebhooks,
    addMail,
    addUpstreams,
  ],
  ...[
    addModels,
    addCatalog,
    addStatus,
    addTop,
    addLogs,
    addOverview,
    addUsage,
    addInvoice,
    addGauge,
    addTrace,
    addDb,
    addCheck,
    addDoctor,
    addInit,
  ],
]

/** All commands, not parsed yet. `quiet`: the caller reports usage errors itself. */
export function createProgram(
  services: CliServices,
  { quiet }: { readonly quiet: boolean },
): { readonly program: Command; readonly context: CommandContext } {
  const { terminal } = services
  const program = new Command('millrace')
    .description('A self-hosted gateway for language models. Without a command, it starts the server.')
    .option('-c, --config <file>', 'configuration file')
    .option('--data <folder>', 'data folder')
    .option('--json', 'print the result as JSON')
    .option('-V, --version', 'print the version')
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => quiet || terminal.err(text),
      getOutHasColors: () => terminal.colours.out,
      getErrHasColors: () => terminal.colours.err,
    })
    .showHelpAfterError('(see --help)')
    .helpCommand('help [command]', 'show the help of a command')
  const context = createCommandContext(services, program)
  for (const add of COMMANDS) add(program, context)
  return { program, context }
}

/** Runs one command line, without the program name, and resolves to the exit code. */
export async function runCli(services: CliServices, argv: readonly string[]): Promise<ExitCode> {
  const isJson = argv.includes('--json')
  const { program, context } = createProgram(services, { quiet: isJson })
  try {
    const { operands } = program.parseOptions([...argv])
    if (program.opts<{ version?: boolean }>().version === true) {
      context.print(services.versions, { data: `${services.versions.millrace}\n` })
      return EXIT.ok
    }
    // `millrace` alone, or with options of the server only, starts the server.
    const serves = operands.length === 0 && !argv.includes('-h') && !argv.includes('--help')
    await program.parseAsync(serves ? ['serve', ...argv] : [...argv], { from: 'user' })
    return context.exit
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return EXIT.ok
    if (isJson) context.fail(EXIT.usage, `${error.message.replace(/^error: /, '')} (see --help)`)
    return EXIT.usage
  }
}
