import { Command } from 'commander'
import { addAccounts } from './accounts.ts'
import { addCatalog } from './catalog.ts'
import { addCheck } from './check.ts'
import type { CliDeps } from './cli-deps.ts'
import { addCodes } from './codes.ts'
import { type CommandContext, createCommandContext } from './command-context.ts'
import { addDb } from './db-verify.ts'
import { addInit } from './init.ts'
import { addKeys } from './keys.ts'
import { addModels } from './models.ts'
import { addPeople } from './people.ts'
import { addPlans } from './plans.ts'
import { addRoute } from './route-explain.ts'
import { addServe } from './serve.ts'
import { addStatus } from './status.ts'
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
