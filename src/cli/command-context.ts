import { type Command, InvalidArgumentError } from 'commander'
import type { OperationArgs, OperationName, OperationValue } from '../admin/operations.ts'
import { shellWord } from '../lib/anywhere/text.ts'
import { type CliDeps, EXIT, type ExitCode, type Place } from './cli-deps.ts'
import { type Column, formatTable, type Style, styleFor } from './format.ts'

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

/** Which page of a list is wished. */
export interface PageOptions {
  readonly after?: string
  readonly limit: number
}

/** Every list is asked for its pages in the same way. */
export const inPages = (list: Command): Command =>
  list
    .option('--after <page>', 'the end of the page before')
    .option('--limit <n>', 'how many, at most 200', parseCount, LIMIT)

const LIMIT = 50

interface ShownList {
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly string[])[]
  /** The end of this page; null where nothing is behind it. */
  readonly next: string | null
  /** The words of the command that lists it, but for those that choose a page. */
  readonly command: readonly string[]
  readonly page: PageOptions
  /** Said where the list is empty from its beginning. */
  readonly none: string
}

export function showList(style: Style, { columns, rows, next, command, page, none }: ShownList): Shown {
  if (rows.length === 0) return { data: '', aside: `${page.after === undefined ? none : 'There are no more.'}\n` }
  const data = formatTable(style, columns, rows)
  if (next === null) return { data }
  const limit = page.limit === LIMIT ? [] : ['--limit', String(page.limit)]
  const more = ['millrace', ...command, ...limit, '--after', next]
  return { data, aside: `There are more:  ${more.map(shellWord).join(' ')}\n` }
}

/** A whole number above zero, as an option's value. */
export function parseCount(text: string): number {
  const count = Number(text)
  if (!/^\d{1,15}$/.test(text) || count === 0) throw new InvalidArgumentError('It must be a whole number above zero.')
  return count
}

/** 0 takes any free port. */
export function parsePort(text: string): number {
  const port = Number(text)
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new InvalidArgumentError('It must be a number from 0 to 65535.')
  return port
}

/** Null is taken for an option without a value, so the word stays until the terms are made. */
export function parseCountOrNone(text: string): number | 'none' {
  if (text === 'none') return text
  try {
    return parseCount(text)
  } catch {
    throw new InvalidArgumentError('It must be a whole number above zero, or none.')
  }
}

/** Ids or globs, separated by commas. */
export const parseList = (text: string): string[] => text.split(',').map((each) => each.trim())
