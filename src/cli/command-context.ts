import { type Command, InvalidArgumentError } from 'commander'
import type { OperationArgs, OperationName, OperationValue } from '../admin/operations.ts'
import type { Page } from '../admin/values.ts'
import { shellWord } from '../lib/anywhere/text.ts'
import { type CliServices, EXIT, type ExitCode, type OperatorAnswer, type Place } from './cli-services.ts'
import { columnsOf, formatTable, type Style, styleFor } from './format.ts'

/** The services, the global options and the outcome of one command line. */
export type CommandContext = ReturnType<typeof createCommandContext>

/** `data` is the answer and goes to stdout; `before` and `note` go to stderr. */
export interface Shown {
  readonly before?: string
  readonly data: string
  readonly note?: string
}

export function createCommandContext(services: CliServices, program: Command) {
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

  return {
    services,
    style,
    pastable,
    place: (): Place => ({ config: options().config, data: options().data }),
    get json(): boolean {
      return options().json === true
    },
    get exit(): ExitCode {
      return exit
    },
    end(code: ExitCode): void {
      exit = code
    },
    /** Ends with an error on stderr; with `--json`, with an error object on stdout, and beside it what was `made` before. */
    fail(code: ExitCode, written: string, made: object = {}): void {
      exit = code
      const message = pastable(written)
      if (this.json) terminal.out(jsonError(code, message, made))
      else terminal.err(`${errStyle.red('error:')} ${message}\n`)
    },
    /** Runs one operation. A failure is reported, and the value undefined. */
    async call<Name extends OperationName>(name: Name, args: OperationArgs<Name>, made?: object) {
      return this.valueOf(await services.operator.call(this.place(), name, args), made)
    },
    /** Reports an answer that is a failure. */
    valueOf<Value>(answer: OperatorAnswer<Value>, made?: object): Value | undefined {
      if (answer.kind === 'done') return answer.value
      this.fail(answer.kind === 'refused' ? EXIT.failure : answer.exit, answer.message, made)
      return undefined
    },
    /** Runs one operation and prints its value. */
    async operate<Name extends OperationName>(
      name: Name,
      args: OperationArgs<Name>,
      show: (value: OperationValue<Name>, style: Style) => Shown,
    ): Promise<void> {
      const value = await this.call(name, args)
      if (value !== undefined) this.print(value, show(value, style))
    },
    /** Runs an operation that lists, and prints one page. */
    list<Name extends ListName>(
      name: Name,
      args: OperationArgs<Name> & PageOptions,
      list: ShownList<ItemOf<Name>>,
    ): Promise<void> {
      return this.operate(name, args, (page) => showList(style, page as Page<ItemOf<Name>>, args, list))
    },
    /** Prints the value for programs (`--json`) or for people. */
    print(value: unknown, shown: Shown): void {
      if (this.json) {
        terminal.out(`${JSON.stringify(value, null, terminal.colours.out ? 2 : undefined)}\n`)
        return
      }
      if (shown.before !== undefined) terminal.err(shown.before)
      terminal.out(shown.data)
      if (shown.note !== undefined) terminal.err(pastable(shown.note))
    },
  }
}

/** The last line of a command with `--json` that failed. */
export const jsonError = (code: ExitCode, message: string, made: object = {}): string =>
  `${JSON.stringify({ error: { message, exit_code: code }, ...made })}\n`

export interface PageOptions {
  readonly after?: string
  readonly limit: number
}

/** Adds the page options of a list. */
export const inPages = (list: Command): Command =>
  list
    .option('--after <cursor>', 'continue a list; the previous page prints the value')
    .option('--limit <n>', 'number of rows, at most 200', parseCount, LIMIT)

const LIMIT = 50

type ListName =
  | 'accounts.list'
  | 'admin-keys.list'
  | 'codes.list'
  | 'keys.list'
  | 'payments.list'
  | 'notices.list'
  | 'people.list'
  | 'teams.list'
  | 'wallet.entries'
  | 'wallet.wishes'
  | 'usage.accounts'
  | 'webhooks.deliveries.list'

type ItemOf<Name extends ListName> = OperationValue<Name> extends Page<infer Item> ? Item : never

interface ShownList<Item> {
  readonly columns: readonly string[]
  readonly row: (item: Item) => string[]
  /** The command that lists it, without its page options. */
  readonly command: readonly string[]
  /** Shown if the whole list is empty. */
  readonly none: string
}

export function showList<Item>(
  style: Style,
  { items, next }: Page<Item>,
  { after, limit }: PageOptions,
  { columns, row, command, none }: ShownList<Item>,
): Shown {
  if (items.length === 0) return { data: '', note: `${after === undefined ? none : 'No more rows.'}\n` }
  const data = formatTable(style, columnsOf(...columns), items.map(row))
  if (next === null) return { data }
  const more = ['millrace', ...command, ...(limit === LIMIT ? [] : ['--limit', String(limit)]), '--after', next]
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
