import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { formatTable } from './table.ts'

export function addModels(program: Command, context: CommandContext): void {
  program
    .command('models')
    .description('the models that are offered, with prices in USD per million tokens')
    .action(async () => {
      await context.operate('models.list', {}, ({ models }, style) => {
        if (models.length === 0) return { data: '', aside: 'The configuration has no model.\n' }
        const columns = [
          { title: 'id' },
          { title: 'efforts' },
          { title: 'context', align: 'right' as const },
          { title: 'input', align: 'right' as const },
          { title: 'cached', align: 'right' as const },
          { title: 'output', align: 'right' as const },
          { title: 'kinds' },
          { title: 'lanes' },
        ]
        const rows = models.map((model) => [
          model.id,
          model.efforts === null ? 'any' : model.efforts.join(' ') || 'none',
          String(model.context_tokens),
          model.price?.input ?? 'no price',
          model.price?.cached_input ?? '',
          model.price?.output ?? '',
          model.kinds.join(' '),
          model.lanes.map((lane) => lane.id).join(' '),
        ])
        return { data: formatTable(style, columns, rows) }
      })
    })
}
