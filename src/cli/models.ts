import type { Command } from 'commander'
import type { OpenLaneView, RouteLaneView, RouteView } from '../admin/explain-route.ts'
import type { ModelView } from '../admin/models.ts'
import type { CommandContext } from './command-context.ts'
import { columnsOf, formatTable, type Style } from './format.ts'

const COLUMNS = columnsOf(
  ...['id', 'efforts', 'inputs', '>context', '>input', '>cached', '>cache write', '>output'],
  ...['kept', 'kinds', 'lanes'],
)

export function addModels(program: Command, context: CommandContext): void {
  program
    .command('models')
    .description('the models that are offered, with prices in USD per million tokens')
    .action(async () => {
      await context.operate('models.list', {}, ({ models }, style) => {
        if (models.length === 0) return { data: '', aside: 'The configuration has no model.\n' }
        const rows = models.map((model) => [
          model.id,
          model.efforts === null ? 'any' : model.efforts.join(' ') || 'none',
          model.inputs.join(' '),
          String(model.context_tokens),
          model.price?.input ?? 'no price',
          model.price?.cached_input ?? '',
          model.price?.cache_write ?? '',
          model.price?.output ?? '',
          keptOf(model),
          model.kinds.join(' '),
          model.lanes.map((lane) => lane.id).join(' '),
        ])
        return {
          data: formatTable(style, COLUMNS, rows),
          aside: models.map((model) => contextWarning(model, style)).join(''),
        }
      })
    })
}

/** What of a prompt its providers are asked to keep in their caches, where they have to be asked. */
const keptOf = ({ lanes }: ModelView): string =>
  [...new Set(lanes.flatMap(({ prompt_cache }) => prompt_cache ?? []))].join(' ')

/** What the provider counts decides what is billed, so a context that is too small costs the operator money. */
function contextWarning({ id, context_tokens, counted_beyond_context: counted }: ModelView, style: Style): string {
  if (counted === null) return ''
  return `${style.yellow('warning:')} ${id}: context_tokens looks too small: a provider counted ${counted} input tokens, and it is ${context_tokens}.\n`
}

const ROUTE_COLUMNS = columnsOf('lane', '>priority', '>weight', '>asked first', 'now', 'cannot')

export function addRoute(program: Command, context: CommandContext): void {
  const route = program.command('route').description('which lane answers')
  route
    .command('explain <model>')
    .description('which lanes a request for a model would go through now, and which are left alone')
    .action(async (model: string) => {
      await context.operate('route.explain', { model }, (view, style) => ({
        data: formatTable(style, ROUTE_COLUMNS, view.lanes.map(laneRow)),
        aside: notesOf(view, style),
      }))
    })
}

const laneRow = (lane: RouteLaneView): string[] => [
  lane.id,
  String(lane.priority),
  String(lane.weight),
  `${lane.first_percent} %`,
  nowWords(lane),
  lane.cannot.join(' '),
]

const REASONS: Readonly<Record<OpenLaneView['reason'], string>> = {
  failing: 'has failed',
  busy: 'limits requests',
  overloaded: 'is overloaded',
  'locked-out': 'refuses the credential, the account or the model name',
}

function nowWords({ asked, aside }: RouteLaneView): string {
  if (aside === null) return 'is asked'
  const { reason, seconds_left: left } = aside
  if (left > 0) return `${REASONS[reason]}; left alone for ${left} s`
  return `${REASONS[reason]}; ${asked ? 'whoever comes to it next tries it' : 'somebody is trying it'}`
}

function notesOf(view: RouteView, style: Style): string {
  const notes = [
    ...(view.has_price ? [] : ['It has no price, so nobody may call it: models[].price.']),
    ...(view.lanes.length > 0 && view.lanes.every(({ asked }) => !asked)
      ? ['No lane is asked now: requests get 503 with Retry-After, or 429 where every lane limits requests.']
      : []),
    ...(view.lanes.length > 1 ? ['A conversation stays on the lane that it is on, whatever its place here.'] : []),
    ...(view.server_runs
      ? []
      : ['No server runs here: what a running one has found out about its lanes is not known.']),
  ]
  return notes.map((note) => `${style.dim(note)}\n`).join('')
}
