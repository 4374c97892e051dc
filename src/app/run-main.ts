import { type CliServices, EXIT, type ExitCode, type Terminal, type Upstreams } from '../cli/cli-services.ts'
import { jsonError } from '../cli/command-context.ts'
import { runCli } from '../cli/create-program.ts'
import { type Environment, readConfigFile } from '../config/files.ts'
import { configSources, loadSettings, readFragment } from '../config/load-config.ts'
import { pause } from '../lib/async.ts'
import { systemClock } from '../lib/clock.ts'
import { isMissingPart } from '../lib/files.ts'
import { secureRandom } from '../lib/random-id.ts'
import { createAccountsFiles } from './accounts-files.ts'
import type { OpenApp } from './app.ts'
import { createOperator } from './operator.ts'
import { createSignals, type Faults, failureSentences, readVersions, workerStartOf } from './process.ts'
import { isAlive } from './server-note.ts'

interface MainContext {
  readonly environment: Environment
  readonly cwd: string
  /** The command that starts this program in the user's shell: `millrace`, or `node dist/app/main.js`. */
  readonly program: string
  readonly terminal: Terminal
  readonly faults: Faults
  /** The server has ended: a reader that does not read its output may no longer delay the exit. */
  endServer(): void
}

/** Connects the command line to the program. An unexpected failure ends with a sentence, not a stack. */
export async function runMain(context: MainContext, argv: readonly string[]): Promise<ExitCode> {
  try {
    return await runCli(cliDeps(context), argv)
  } catch (error) {
    const exit = isMissingPart(error) ? EXIT.missingPart : EXIT.failure
    reportFailure(context.terminal, argv, { error, exit })
    return exit
  }
}

/** Of a command that ends with it. */
export function reportFailure(
  terminal: Terminal,
  argv: readonly string[],
  { error, exit }: { readonly error: unknown; readonly exit: ExitCode },
): void {
  const sentences = failureSentences(error)
  if (argv.includes('--json')) terminal.out(jsonError(exit, sentences.join(' ')))
  else for (const line of sentences) terminal.err(`error: ${line}\n`)
}

function cliDeps(context: MainContext): CliServices {
  const { terminal } = context
  const versions = readVersions()
  const common = {
    version: versions.millrace,
    node: versions.node,
    program: context.program,
    clock: systemClock,
    random: secureRandom,
    openApp,
    loadSettings: (flags: Parameters<typeof loadSettings>[1], managed?: Parameters<typeof loadSettings>[2]) =>
      loadSettings(context, flags, managed),
  }
  const openUpstreams = async () => (await import('./upstreams.ts')).createUpstreams(common)
  const upstreams: Upstreams = {
    list: async (place) => (await openUpstreams()).list(place),
    test: async (place, request) => (await openUpstreams()).test(place, request),
  }
  const operator = createOperator({ ...common, pause })
  return {
    terminal,
    program: context.program,
    operator,
    pause,
    isAlive,
    serve: async (options) => {
      const start = workerStartOf(context.environment)
      const worker = start && (await import('./worker-link.ts')).joinSupervisor(start)
      const pid = worker?.supervisorPid ?? process.pid
      const openSignals = () => createSignals(worker?.signals ?? process)
      const { serve } = await import('./serve.ts')
      try {
        return await serve({ ...common, terminal, faults: context.faults, pid, worker, openSignals }, options)
      } finally {
        worker?.leave()
        context.endServer()
      }
    },
    accountsFiles: createAccountsFiles(context.cwd),
    readFragment: (path) => readFragment({ ...context, readFile: readConfigFile }, path),
    upstreams,
    doctor: async (place, options) => {
      const [{ examine }, { thisMachine }] = await Promise.all([
        import('./doctor/doctor.ts'),
        import('./doctor/machine.ts'),
      ])
      const machine = thisMachine(systemClock)
      const sources = configSources(context, place)
      return examine({ version: versions.millrace, sources, machine, upstreams }, place, options)
    },
    backUpLedger: async (place, request) =>
      (await import('./backup.ts')).backUpLedger(
        { ...common, operator, cwd: context.cwd, pid: process.pid },
        place,
        request,
      ),
    restoreLedger: async (place, request) =>
      (await import('./restore.ts')).restoreLedger({ ...common, cwd: context.cwd }, place, request),
    moveLedger: async (place, request) =>
      (await import('./move-ledger.ts')).moveLedger({ ...common, cwd: context.cwd }, place, request),
    checkConfig: async (place) =>
      (await import('./check-config.ts')).checkConfig(configSources(context, place), systemClock.now()),
    pinImports: async (place) => (await import('./check-config.ts')).pinImports(configSources(context, place)),
    writeTemplate: async (path, mode) =>
      (await import('../config/init-template.ts')).writeTemplate(context.cwd, path, mode),
    readKeyStanding: async (url) => (await import('./read-key-standing.ts')).readKeyStanding(context.environment, url),
    versions,
  }
}

/** Loaded on demand, as is all that only some commands need: a command that asks the server starts in half the time. */
const openApp: OpenApp = async (context) => (await import('./create-app.ts')).openApp(context)
