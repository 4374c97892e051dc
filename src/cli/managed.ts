import { Argument, type Command, Option } from 'commander'
import type { OperationArgs, OperationValue } from '../admin/operations.ts'
import { MANAGED_KINDS, MANAGED_LISTS, type ManagedKind } from '../contract/managed.ts'
import { EXIT } from './cli-services.ts'
import type { CommandContext } from './command-context.ts'
import { columnsOf, formatTable, type Style } from './format.ts'

type Managed = OperationValue<'managed.list'>
type Change = OperationArgs<'managed.change'>

const kindArgument = () => new Argument('<kind>', 'what it is').choices(MANAGED_KINDS)

/** What operators manage beside the configuration file. */
export function addManaged(program: Command, context: CommandContext): void {
  const managed = program
    .command('managed')
    .description('manage upstreams, models, plans and prices that the configuration file does not have')
  managed
    .command('list')
    .description('list managed upstreams, models and plans, and the names that the file has')
    .action(() => context.operate('managed.list', {}, (answer, style) => ({ data: formatManaged(answer, style) })))
  managed
    .command('set')
    .description('save the upstreams, models and plans of a YAML file with the shape of the configuration')
    .requiredOption('-f, --file <file>', `its \${NAME} are variables of this command`)
    .action(({ file }: { file: string }) => {
      const read = context.services.readFragment(file)
      if (read.kind === 'invalid') return context.fail(EXIT.usage, read.lines.join('\n'))
      const change = changeOf(read.value)
      if (typeof change === 'string') return context.fail(EXIT.usage, `${file}: ${change}`)
      return makeChange(context, change)
    })
  managed
    .command('retire')
    .description('end a managed upstream, model or plan; running requests finish')
    .addArgument(kindArgument())
    .argument('<name>', 'its id')
    .action((kind: ManagedKind, name: string) => makeChange(context, { retire: [{ kind, name }] }))
  managed
    .command('price <model>')
    .description('set the price of a managed model, at once or from a date on')
    .option('-f, --file <file>', 'the price as YAML: input: "1.25", output: "10", …')
    .option('--from <when>', 'a date (2027-01-31), a time (2027-01-31T09:00:00Z) or a span (12h, 7d); default: at once')
    .addOption(new Option('--call-off', 'drop the price that was announced for --from').conflicts('file'))
    .action((model: string, { file, from, callOff }: { file?: string; from?: string; callOff?: true }) => {
      const dated = from === undefined ? {} : { from }
      if (callOff) return makeChange(context, { prices: [{ model, price: null, ...dated }] })
      if (file === undefined) return context.fail(EXIT.usage, 'Name the file with the price: --file price.yaml')
      const read = context.services.readFragment(file)
      if (read.kind === 'invalid') return context.fail(EXIT.usage, read.lines.join('\n'))
      return makeChange(context, { prices: [{ model, price: read.value as Record<string, unknown>, ...dated }] })
    })
  managed
    .command('preview <model>')
    .description('show what the requests of the last 30 days would have cost at another price, by account')
    .requiredOption('-f, --file <file>', 'the price as YAML')
    .action((model: string, { file }: { file: string }) => {
      const read = context.services.readFragment(file)
      if (read.kind === 'invalid') return context.fail(EXIT.usage, read.lines.join('\n'))
      const price = read.value as Record<string, unknown>
      return context.operate('managed.preview', { model, price }, (preview, style) => ({
        data: formatPreview(preview, style),
        ...(!preview.complete && { note: `There are more requests: these are those since ${preview.from}.\n` }),
      }))
    })
  managed
    .command('history')
    .description('list the versions of a managed entry, newest first')
    .addArgument(kindArgument())
    .argument('<name>', 'its id')
    .action((kind: ManagedKind, name: string) =>
      context.operate('managed.history', { kind, name }, ({ items }, style) => ({
        data: formatTable(
          style,
          columnsOf('>revision', 'what', 'from', 'by', 'entry'),
          items.map(({ revision, what, from, created_by, entry }) => [
            ...[String(revision), what, from, created_by],
            entry === null ? 'ended' : JSON.stringify(entry),
          ]),
        ),
      })),
    )
  managed
    .command('export')
    .description('print the managed entries as a part of the configuration file, with variables for secrets')
    .action(() => context.operate('managed.export', {}, ({ yaml }) => ({ data: yaml })))
}

const makeChange = (context: CommandContext, change: Change): Promise<void> =>
  context.operate('managed.change', change, (answer, style) => ({
    ...(answer.not_applied !== null && { before: `Saved, but not in force yet: ${answer.not_applied}\n` }),
    data: formatManaged(answer, style),
  }))

/** The lists of a file, or why it is none. */
function changeOf(value: unknown): Change | string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'it is not a map with lists.'
  const lists = Object.keys(MANAGED_LISTS)
  const other = Object.keys(value).find((key) => !lists.includes(key))
  if (other !== undefined) return `${JSON.stringify(other)} cannot be managed. Lists: ${lists.join(', ')}.`
  // The operation checks the rest.
  return value as Change
}

function formatManaged({ items }: Managed, style: Style): string {
  const columns = columnsOf('kind', 'name', 'owner', 'secrets', 'next price', 'state')
  const rows = items.map(({ kind, name, file, entry, secrets, prices, problem }) => [
    ...[kind, name, file ?? 'managed', secrets.join(' '), prices[0]?.from ?? ''],
    problem === null ? (file !== null && entry !== null ? 'the file decides' : 'in force') : problem.split('\n')[0]!,
  ])
  return formatTable(style, columns, rows)
}

function formatPreview(preview: OperationValue<'managed.preview'>, style: Style): string {
  const row = (name: string, sums: Pick<typeof preview, 'requests' | 'charged' | 'would_be' | 'change'>) => [
    ...[name, String(sums.requests), sums.charged, sums.would_be, sums.change],
  ]
  const rows = [row('total', preview), ...preview.accounts.map((each) => row(each.email, each))]
  const table = formatTable(style, columnsOf('account', '>requests', '>charged', '>would be', '>change'), rows)
  return preview.margin === null
    ? table
    : `${table}Margin: ${preview.margin} USD, would be ${preview.margin_would_be} USD.\n`
}
