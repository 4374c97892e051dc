import type { Command } from 'commander'
import type { OperationValue } from '../admin/operations.ts'
import type { OpenReason } from '../routing/circuit-breaker.ts'
import type { CommandContext } from './command-context.ts'
import { columnsOf, countOf, formatTable, type Style } from './format.ts'

const COLUMNS = columnsOf(
  ...['id', 'efforts', 'inputs', '>context', '>input', '>cached', '>cache write', '>output'],
  ...['prompt cache', 'kinds', 'lanes'],
)

export function addModels(program: Command, context: CommandContext): void {
  program
    .command('models')
    .description('list the models, with prices in USD per million tokens')
    .action(() =>
      context.operate('models.list', {}, ({ models }, style) => {
        if (models.length === 0) return { data: '', note: 'The configuration has no models.\n' }
        const rows = models.map(({ id, efforts, inputs, context_tokens, price, kinds, lanes }) => [
          ...[id, efforts === null ? 'any' : efforts.join(' ') || 'none', inputs.join(' '), String(context_tokens)],
          ...[price?.input ?? 'no price', price?.cached_input ?? '', price?.cache_write ?? '', price?.output ?? ''],
          [...new Set(lanes.flatMap(({ prompt_cache }) => prompt_cache ?? []))].join(' '),
          ...[kinds.join(' '), lanes.map((lane) => lane.id).join(' ')],
        ])
        // A context that is too small costs money: the provider's count decides what is billed.
        const warnings = models.flatMap(({ id, context_tokens, counted_beyond_context: counted }) =>
          counted === null
            ? []
            : `${style.yellow('warning:')} ${id}: context_tokens is ${context_tokens}, but a provider counted ${counted} input tokens: it looks too small.\n`,
        )
        const imported = models.filter(({ imported_from: from }) => from !== null)
        const origins = [...new Set(imported.map(({ imported_from: from }) => from))].join(', ')
        const note = imported.length === 0 ? '' : `${countOf(imported.length, 'model')} imported from ${origins}.\n`
        return { data: formatTable(style, COLUMNS, rows), note: `${note}${warnings.join('')}` }
      }),
    )
}

const ROUTE_COLUMNS = columnsOf('lane', '>priority', '>weight', '>tried first', 'state', 'cannot')

export function addRoute(program: Command, context: CommandContext): void {
  const route = program.command('route').description('inspect routing')
  route
    .command('explain <model>')
    .description('show which lanes a request for a model would try now, and which circuits are open')
    .action((model: string) =>
      context.operate('route.explain', { model }, (view, style) => ({
        data: formatTable(
          style,
          ROUTE_COLUMNS,
          view.lanes.map((lane) => [
            ...[lane.id, String(lane.priority), String(lane.weight), `${lane.first_percent} %`],
            ...[laneState(lane), lane.cannot.join(' ')],
          ]),
        ),
        note: notesOf(view, style),
      })),
    )
}

type RouteView = OperationValue<'route.explain'>

const REASONS: Readonly<Record<OpenReason, string>> = {
  failing: 'failing',
  busy: 'rate-limited',
  overloaded: 'overloaded',
  'locked-out': 'rejects the credential, the account or the model name',
}

function laneState({ asked, aside }: RouteView['lanes'][number]): string {
  if (aside === null) return 'available'
  const { reason, seconds_left: left } = aside
  if (left > 0) return `${REASONS[reason]}; circuit open for ${left} s`
  return `${REASONS[reason]}; half-open, ${asked ? 'the next request tries it' : 'a request is trying it'}`
}

function notesOf(view: RouteView, style: Style): string {
  const notes = [
    ...(view.has_price ? [] : ['It has no price, so it cannot be called. Set models[].price.']),
    ...(view.lanes.length > 0 && view.lanes.every(({ asked }) => !asked)
      ? ['No lane is available: requests get 503 with Retry-After, or 429 if every lane is rate-limited.']
      : []),
    ...(view.lanes.length > 1 ? ['A running conversation stays on its lane, regardless of this order.'] : []),
    ...(view.server_runs ? [] : ['No server is running here, so the state of the circuits is unknown.']),
  ]
  return notes.map((note) => `${style.dim(note)}\n`).join('')
}
