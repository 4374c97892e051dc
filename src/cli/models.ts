import type { Command } from 'commander'
import type { ModelView } from '../account/models/list-models.ts'
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
