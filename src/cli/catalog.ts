import type { Command } from 'commander'
import {
  type CatalogView,
  type FactView,
  type KnownView,
  knownViews,
  type LaneComparison,
  proposeModel,
  type TraitView,
} from '../admin/compare-catalog.ts'
import { knownModel, knownModels } from '../catalog/known-models.ts'
import { EXIT } from './cli-deps.ts'
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
    .description('your models beside the known facts of their providers: where they differ, and what that costs')
    .option('--all', 'also what does not differ')
    .option('--known [dialect]', 'list the facts that this program comes with')
    .option('--propose <dialect/model>', 'print an entry for the configuration, made of those facts')
    .action(async (model: string | undefined, { all, known, propose }: CatalogOptions) => {
      if ([model, known, propose].filter((part) => part !== undefined).length > 1) {
        context.fail(EXIT.usage, 'Name a model, or use --known, or --propose: one of them.')
      } else if (known !== undefined) tellKnown(context, known === true ? undefined : known)
      else if (propose !== undefined) tellProposal(context, propose)
      else {
        await context.operate('catalog.compare', model === undefined ? {} : { model }, (view, style) =>
          formatComparison(style, view, { all: all === true }),
        )
      }
    })
}

/** The snapshot is part of the program: neither a server nor a data folder is needed to read it. */
function tellKnown(context: CommandContext, dialect: string | undefined): void {
  const models = knownViews(dialect)
  const { asOf, pricesFrom } = knownModels()
  if (models === undefined) context.fail(EXIT.failure, noSuchDialect(dialect ?? ''))
  else {
    const value = { as_of: asOf, prices_from: pricesFrom, models }
    context.print(value, { data: formatKnown(context.style, models), aside: `Facts of ${asOf}.\n` })
  }
}

function tellProposal(context: CommandContext, wanted: string): void {
  const [dialect = '', ...rest] = wanted.split('/')
  const id = rest.join('/')
  const known = knownModel(dialect, id)
  if (known !== undefined) {
    const yaml = proposeModel(known, id)
    const aside = `Its lane runs on an upstream called ${dialect}: write the id of yours. Then: millrace check\n`
    context.print({ as_of: knownModels().asOf, yaml }, { data: yaml, aside })
  } else if (knownModels().providers.has(dialect)) {
    const where = `see millrace catalog --known ${dialect}`
    context.fail(EXIT.failure, `Nothing is known of a model ${JSON.stringify(id)} of ${dialect}: ${where}.`)
  } else context.fail(EXIT.failure, noSuchDialect(dialect))
}

const noSuchDialect = (dialect: string): string =>
  `Nothing is known of the dialect ${JSON.stringify(dialect)}; there is ${[...knownModels().providers.keys()].join(', ')}.`

const KNOWN_COLUMNS = columnsOf(
  ...['dialect', 'model', 'efforts', '>context', '>output max'],
  ...['>input', '>cached', '>cache write', '>output'],
)

/** The snapshot as a table. Longer requests may cost more: then there is a plus behind the price. */
function formatKnown(style: Style, models: readonly KnownView[]): string {
  const rows = models.map((model) => {
    const { price } = model
    const more = price !== null && price.tiers.length > 0 ? '+' : ''
    const rate = (written: string | undefined) => (written === undefined ? '' : `${written}${more}`)
    return [
      model.dialect,
      model.id,
      model.efforts === null ? '' : model.efforts.join(' ') || 'none',
      String(model.context_tokens ?? ''),
      String(model.max_output_tokens ?? ''),
      rate(price?.input),
      rate(price?.cached_input),
      rate(price?.cache_write),
      rate(price?.output),
    ]
  })
  return formatTable(style, KNOWN_COLUMNS, rows)
}

const COLUMNS = columnsOf('model', 'lane', 'what', '>list', '>known', 'note')

/** A row for everything that differs, or for everything; what costs money is said once more, in words. */
export function formatComparison(style: Style, view: CatalogView, { all }: { readonly all: boolean }): Shown {
  const rows = view.lanes.flatMap((lane) => rowsOf(lane, all))
  const day = `Facts of ${view.as_of}. They propose, your list decides.\n`
  const warnings = view.warnings.map((warning) => `${style.yellow('warning:')} ${warning}\n`).join('')
  if (rows.length > 0) return { data: formatTable(style, COLUMNS, rows), aside: `${day}${warnings}` }
  const nothing = view.lanes.length === 0 ? 'The configuration has no model.\n' : 'Nothing differs.\n'
  return { data: '', aside: `${nothing}${day}${warnings}` }
}

function rowsOf(lane: LaneComparison, all: boolean): string[][] {
  const { facts, traits } = lane
  const shown = [
    ...(lane.known ? [] : [['', '', '', unknownNote(lane)]]),
    ...facts.filter(({ differs }) => all || differs).map(factRow),
    ...(all && lane.price_until !== null ? [['price', '', '', `another one from ${lane.price_until} on`]] : []),
    ...traits.filter(({ differs }) => all || differs).map(traitRow),
  ]
  return shown.map((row) => [lane.model, lane.lane, ...row])
}

const unknownNote = ({ wire, dialect, provider_model }: LaneComparison): string =>
  wire === 'demo' ? 'built in' : `nothing is known of ${provider_model} (${dialect})`

const factRow = ({ name, list, snapshot, note }: FactView): string[] => [name, words(list), words(snapshot), note ?? '']

const FROM = { list: 'as your list says', snapshot: 'as is known of the model', dialect: 'as the dialect assumes' }

const traitRow = ({ name, value, from, snapshot }: TraitView): string[] => [
  `traits.${name}`,
  words(value),
  words(snapshot),
  FROM[from],
]

function words(value: FactView['list'] | TraitView['value']): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value !== 'object') return String(value)
  if (Array.isArray(value)) return value.join(' ') || 'none'
  return (
    Object.entries(value)
      .map(([effort, spelling]) => (effort === spelling ? effort : `${effort}=${spelling}`))
      .join(' ') || 'none'
  )
}
