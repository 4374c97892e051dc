import { CommanderError } from 'commander'
import type { CliDeps } from './cli-deps.ts'
import type { CommandContext } from './command-context.ts'
import { createProgram } from './create-program.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'

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
