import { type Command, InvalidArgumentError } from 'commander'
import type { OperationArgs, OperationName, OperationValue } from '../admin/operations.ts'
import { shellWord } from '../lib/anywhere/text.ts'
import { type CliServices, EXIT, type ExitCode, type Place } from './cli-services.ts'
import { type Column, formatTable, type Style, styleFor } from './format.ts'

/** The services, the global options and the outcome of one command line. */
export interface CommandContext {
  readonly services: CliServices
  readonly style: Style
  place(): Place
  readonly json: boolean
  readonly exit: ExitCode
  end(exit: ExitCode): void
  /** Ends with an error on stderr; with `--json`, with an error object on stdout. */
  fail(exit: ExitCode, message: string): void
  /** Runs one operation and prints its value. Returns the value for further use. */
  operate<Name extends OperationName>(
    name: Name,
    args: OperationArgs<Name>,
    show?: (value: OperationValue<Name>, style: Style) => Shown,
  ): Promise<OperationValue<Name> | undefined>
  /** Prints the value for programs (`--json`) or for people. */
  print(value: unknown, shown: Shown): void
}

/** `data` is the answer and goes to stdout; `before` and `note` go to stderr. */
export interface Shown {
  readonly before?: string
  readonly data: string
  readonly note?: string
}

export function createCommandContext(services: CliServices, program: Command): CommandContext {
  const { terminal } = services
  const style = styleFor(terminal.colours.out)
  const errStyle = styleFor(terminal.colours.err)
  let exit: ExitCode = EXIT.ok
  const options = () => program.opts<{ config?: string; data?: string; json?: boolean }>()

  /** Makes the commands in a message ready to paste: with this program's name, `--config` and `--data`. */
  const pastable = (message: string): string => {
    const { config, data } = options()
    const flags = [
      ...(config === undefined ? [] : ['--config', config]),
      ...(data === undefined ? [] : ['--data', data]),
    ]
    const names = program.commands.map((command) => command.name()).join('|')
    const here = [services.program, ...flags.map(shellWord), ''].join(' ')
    return message.replace(new RegExp(`\\bmillrace (?=(?:${names})\\b)`, 'g'), () => here)
  }

  const context: CommandContext = {
    services,
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
      const message = pastable(written)
      if (context.json) terminal.out(`${JSON.stringify({ error: { message, exit_code: code } })}\n`)
      else terminal.err(`${errStyle.red('error:')} ${message}\n`)
    },
    async operate(name, args, show) {
      const answer = await services.operator.call(context.place(), name, args)
      if (answer.kind === 'done') {
        if (show !== undefined) context.print(answer.value, show(answer.value, style))
        return answer.value
      }
      context.fail(answer.kind === 'refused' ? EXIT.failure : answer.exit, answer.message)
      return undefined
    },
    print: (value, shown) => {
      if (context.json) {
        terminal.out(`${JSON.stringify(value, null, terminal.colours.out ? 2 : undefined)}\n`)
        return
      }
      if (shown.before !== undefined) terminal.err(shown.before)
      terminal.out(shown.data)
      if (shown.note !== undefined) terminal.err(pastable(shown.note))
    },
  }
  return context
}

export interface PageOptions {
  readonly after?: string
  readonly limit: number
}

/** Adds the page options of a list. */
export const inPages = (list: Command): Command =>
  list
    .option('--after <page>', 'start after this page')
    .option('--limit <n>', 'number of rows, at most 200', parseCount, LIMIT)

const LIMIT = 50

interface ShownList {
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly string[])[]
  /** The `--after` of the next page; null at the end. */
  readonly next: string | null
  /** The command that lists it, without its page options. */
  readonly command: readonly string[]
  readonly page: PageOptions
  /** Shown if the whole list is empty. */
  readonly none: string
}

export function showList(style: Style, { columns, rows, next, command, page, none }: ShownList): Shown {
  if (rows.length === 0) return { data: '', note: `${page.after === undefined ? none : 'No more rows.'}\n` }
  const data = formatTable(style, columns, rows)
  if (next === null) return { data }
  const limit = page.limit === LIMIT ? [] : ['--limit', String(page.limit)]
  const more = ['millrace', ...command, ...limit, '--after', next]
  return { data, note: `Next page:  ${more.map(shellWord).join(' ')}\n` }
}

/** Reads a whole number above zero. */
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

/** Keeps `none` as text, because commander treats null as an option without a value. */
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
