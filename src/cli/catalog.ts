import type { Command } from 'commander'
import {
  type CatalogView,
  type FactView,
  type KnownView,
  knownViews,
  type LaneComparison,
  proposeModel,
  type TraitValue,
} from '../admin/compare-catalog.ts'
import { knownModel, knownModels } from '../catalog/known-models.ts'
import { EXIT } from './cli-services.ts'
import type { CommandContext, Shown } from './command-context.ts'
import { columnsOf, formatTable, type Style } from './format.ts'

interface CatalogOptions {
  readonly all?: true
  readonly known?: string | true
  readonly propose?: string
}

export function addCatalog(program: Command, context: CommandContext): void {
  program
    .command('catalog [model]')
    .description('compare your models with the built-in model data, and show models that sell at a loss')
    .option('--all', 'include facts that do not differ')
    .option('--known [dialect]', 'list the known models of all dialects, or of one')
    .option('--propose <dialect/model>', 'print a configuration entry for a known model')
    .action(async (model: string | undefined, { all, known, propose }: CatalogOptions) => {
      if ([model, known, propose].filter((part) => part !== undefined).length > 1) {
        context.fail(EXIT.usage, 'Give only one of a model, --known and --propose.')
      } else if (known !== undefined) showKnown(context, known === true ? undefined : known)
      else if (propose !== undefined) showProposal(context, propose)
      else {
        await context.operate('catalog.compare', model === undefined ? {} : { model }, (view, style) =>
          formatComparison(style, view, { all: all === true }),
        )
      }
    })
}

/** The snapshot is part of the program, so this needs neither a server nor a data folder. */
function showKnown(context: CommandContext, dialect: string | undefined): void {
  const models = knownViews(dialect)
  if (models === undefined) {
    context.fail(EXIT.failure, unknownDialect(dialect ?? ''))
    return
  }
  const { asOf, pricesFrom } = knownModels()
  const value = { as_of: asOf, prices_from: pricesFrom, models }
  context.print(value, { data: formatKnown(context.style, models), note: `Facts of ${asOf}.\n` })
}

function showProposal(context: CommandContext, wanted: string): void {
  const [dialect = '', ...rest] = wanted.split('/')
  const id = rest.join('/')
  const known = knownModel(dialect, id)
  if (known !== undefined) {
    const yaml = proposeModel(known, id)
    const note = `Its lane uses an upstream with the id ${dialect}: replace it by yours. Then: millrace check\n`
    context.print({ as_of: knownModels().asOf, yaml }, { data: yaml, note })
  } else if (knownModels().providers.has(dialect)) {
    const cure = `See: millrace catalog --known ${dialect}`
    context.fail(EXIT.failure, `There is no known model ${JSON.stringify(id)} of ${dialect}. ${cure}`)
  } else context.fail(EXIT.failure, unknownDialect(dialect))
}

const unknownDialect = (dialect: string): string =>
  `There are no known models of the dialect ${JSON.stringify(dialect)}. Dialects: ${[...knownModels().providers.keys()].join(', ')}.`

const KNOWN_COLUMNS = columnsOf(
  ...['dialect', 'model', 'efforts', '>context', '>output max'],
  ...['>input', '>cached', '>cache write', '>output'],
)

/** A plus after a price marks higher prices for long requests. */
function formatKnown(style: Style, models: readonly KnownView[]): string {
  const rows = models.map(({ dialect, id, efforts, context_tokens, max_output_tokens, price }) => {
    const more = price !== null && price.tiers.length > 0 ? '+' : ''
    const prices = [price?.input, price?.cached_input, price?.cache_write, price?.output]
    return [
      ...[dialect, id, efforts === null ? '' : efforts.join(' ') || 'none'],
      ...[String(context_tokens ?? ''), String(max_output_tokens ?? '')],
      ...prices.map((each) => (each === undefined ? '' : `${each}${more}`)),
    ]
  })
  return formatTable(style, KNOWN_COLUMNS, rows)
}

const COLUMNS = columnsOf('model', 'lane', 'what', '>configured', '>known', 'note')

/** A row for each difference, or for each fact; losses are repeated as warnings. */
export function formatComparison(style: Style, view: CatalogView, { all }: { readonly all: boolean }): Shown {
  const rows = view.lanes.flatMap((lane) => rowsOf(lane, all))
  const day = `Known facts of ${view.as_of}. Your configuration decides.\n`
  const warnings = view.warnings.map((warning) => `${style.yellow('warning:')} ${warning}\n`).join('')
  if (rows.length > 0) return { data: formatTable(style, COLUMNS, rows), note: `${day}${warnings}` }
  const nothing = view.lanes.length === 0 ? 'The configuration has no models.\n' : 'No differences.\n'
  return { data: '', note: `${nothing}${day}${warnings}` }
}

const FROM = { list: 'from your configuration', snapshot: 'from the known facts', dialect: 'assumed by the dialect' }

function rowsOf({ model, lane, facts, traits, ...of }: LaneComparison, all: boolean): string[][] {
  const unknown = of.wire === 'demo' ? 'built in' : `no known facts of ${of.provider_model} (${of.dialect})`
  const shown = [
    ...(of.known ? [] : [['', '', '', unknown]]),
    ...facts
      .filter(({ differs }) => all || differs)
      .map(({ name, list, snapshot, note }) => [name, formatValue(list), formatValue(snapshot), note ?? '']),
    ...(all && of.price_until !== null ? [['price', '', '', `another price from ${of.price_until} on`]] : []),
    ...traits
      .filter(({ differs }) => all || differs)
      .map(({ name, value, from, snapshot }) => [
        ...[`traits.${name}`, formatValue(value), formatValue(snapshot), FROM[from]],
      ]),
  ]
  return shown.map((row) => [model, lane, ...row])
}

function formatValue(value: FactView['list'] | TraitValue | null): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value !== 'object') return String(value)
  if (Array.isArray(value)) return value.join(' ') || 'none'
  const efforts = Object.entries(value).map(([effort, spelling]) =>
    effort === spelling ? effort : `${effort}=${spelling}`,
  )
  return efforts.join(' ') || 'none'
}
