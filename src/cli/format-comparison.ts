import type { CatalogView, LaneComparison } from '../account/models/compare-catalog.ts'
import type { TraitView } from '../account/models/compare-lane.ts'
import type { FactView } from '../account/models/compare-prices.ts'
import type { Shown } from './command-context.ts'
import { columnsOf, formatTable, type Style } from './format.ts'

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
