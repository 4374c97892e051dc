import { Command, CommanderError } from 'commander'
import { addAccounts } from './accounts.ts'
import { addCatalog } from './catalog.ts'
import { type CliDeps, EXIT, type ExitCode } from './cli-deps.ts'
import { addCodes } from './codes.ts'
import { type CommandContext, createCommandContext } from './command-context.ts'
import { addDb } from './db.ts'
import { addKeys } from './keys.ts'
import { addModels, addRoute } from './models.ts'
import { addPeople } from './people.ts'
import { addPlans } from './plans.ts'
import { addCheck, addInit, addServe, addStatus } from './serve.ts'
import { addTrace } from './trace.ts'
import { addUpstreams } from './upstreams.ts'
import { addWallet } from './wallet.ts'

/** In the order in which the help shows them. */
const COMMANDS = [
  ...[addServe, addAccounts, addWallet, addKeys, addCodes, addPlans, addPeople, addRoute, addUpstreams],
  ...[addModels, addCatalog, addStatus, addTrace, addDb, addCheck, addInit],
]

/** Every command there is, with what each does; nothing runs before it is parsed. */
export function createProgram(
  deps: CliDeps,
  { quiet }: { readonly quiet: boolean },
): { readonly program: Command; readonly context: CommandContext } {
  const program = bareProgram(deps, quiet)
  const context = createCommandContext(deps, program)
  for (const add of COMMANDS) add(program, context)
  return { program, context }
}

/** `quiet`: the caller reports usage errors itself. */
function bareProgram({ terminal }: CliDeps, quiet: boolean): Command {
  return new Command('millrace')
    .description('A self-hosted gateway for language models. Without a command it starts the server.')
    .option('-c, --config <file>', 'the configuration file')
    .option('--data <folder>', 'the data folder')
    .option('--json', 'print the answer as JSON')
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
    .helpCommand('help [command]', 'say what a command does')
}

/** Runs one command line (without the two words that start it) and resolves to the exit code. */
export async function runCli(deps: CliDeps, argv: readonly string[]): Promise<ExitCode> {
  const isJson = argv.includes('--json')
  const { program, context } = createProgram(deps, { quiet: isJson })
  try {
    const { operands } = program.parseOptions([...argv])
    if (program.opts<{ version?: boolean }>().version === true) return sayVersion(context)
    // `millrace` alone, or with the server's options only, starts the server.
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

function sayVersion(context: CommandContext): ExitCode {
  const { versions } = context.deps
  context.print(versions, { data: `${versions.millrace}\n` })
  return EXIT.ok
}
