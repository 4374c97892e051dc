import type { Command } from 'commander'
import type { OperationArgs, OperationName, OperationValue } from '../account/operations.ts'
import { shellWord } from '../lib/anywhere/shell-word.ts'
import type { CliDeps, Place } from './cli-deps.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'
import { type Style, styleFor } from './format.ts'

/** What every command is built with: the parts handed in, the global options, and how to say that it is over. */
export interface CommandContext {
  readonly deps: CliDeps
  readonly style: Style
  place(): Place
  readonly json: boolean
  readonly exit: ExitCode
  end(exit: ExitCode): void
  /** Ends with a sentence on stderr; with `--json`, with an error object on stdout. */
  fail(exit: ExitCode, message: string): void
  /** Asks for one operation, prints its value, ends. Returns the value where there is more to do. */
  operate<Name extends OperationName>(
    name: Name,
    args: OperationArgs<Name>,
    show?: (value: OperationValue<Name>, style: Style) => Shown,
  ): Promise<OperationValue<Name> | undefined>
  /** The same answer for programs and for people. */
  print(value: unknown, shown: Shown): void
}

/** `data` is the answer itself and goes to stdout; `aside` is advice and goes to stderr. */
export interface Shown {
  readonly before?: string
  readonly data: string
  readonly aside?: string
}

export function createCommandContext(deps: CliDeps, program: Command): CommandContext {
  const { terminal } = deps
  const style = styleFor(terminal.colours.out)
  const errStyle = styleFor(terminal.colours.err)
  let exit: ExitCode = EXIT.ok
  const options = () => program.opts<{ config?: string; data?: string; json?: boolean }>()

  /** Rewrites the commands in a message so that they can be pasted: with this program's name, `--config` and `--data`. */
  const asTypedHere = (message: string): string => {
    const { config, data } = options()
    const flags = [
      ...(config === undefined ? [] : ['--config', config]),
      ...(data === undefined ? [] : ['--data', data]),
    ]
    const names = program.commands.map((command) => command.name()).join('|')
    const here = [deps.program, ...flags.map(shellWord), ''].join(' ')
    return message.replace(new RegExp(`\\bmillrace (?=(?:${names})\\b)`, 'g'), () => here)
  }

  const context: CommandContext = {
    deps,
    style,
    place: () => ({ config: options().config, data: options().data }),
    get json() {
      return options().json === true
    },
    get exit() {
      return exit
    },
    end: (code) => {
      exit = code
    },
    fail: (code, written) => {
      exit = code
      const message = asTypedHere(written)
      if (context.json) terminal.out(`${JSON.stringify({ error: { message, exit_code: code } })}\n`)
      else terminal.err(`${errStyle.red('error:')} ${message}\n`)
    },
    async operate(name, args, show) {
      const answer = await deps.operator.call(context.place(), name, args)
      switch (answer.kind) {
        case 'done':
          if (show !== undefined) context.print(answer.value, show(answer.value, style))
          return answer.value
        case 'refused':
          context.fail(EXIT.failure, answer.message)
          return undefined
        case 'unreachable':
          context.fail(answer.exit, answer.message)
          return undefined
      }
    },
    print: (value, shown) => {
      if (context.json) {
        terminal.out(`${JSON.stringify(value, null, terminal.colours.out ? 2 : undefined)}\n`)
        return
      }
      if (shown.before !== undefined) terminal.err(shown.before)
      terminal.out(shown.data)
      if (shown.aside !== undefined) terminal.err(asTypedHere(shown.aside))
    },
  }
  return context
}
