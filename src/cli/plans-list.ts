import type { Command } from 'commander'
import { windowsInWords } from '../account/plans/list-plans.ts'
import type { CommandContext } from './command-context.ts'
import { formatTable } from './table.ts'

export function addPlansList(plans: Command, context: CommandContext): void {
  plans
    .command('list')
    .description('the plans of the configuration')
    .action(async () => {
      await context.operate('plans.list', {}, (listed, style) => {
        if (listed.plans.length === 0) return { data: '', aside: 'The configuration has no plan.\n' }
        const columns = [
          { title: 'id' },
          { title: 'accounts', align: 'right' as const },
          { title: 'allowance' },
          { title: 'opens' },
        ]
        const rows = listed.plans.map((plan) => [
          plan.id,
          String(plan.accounts),
          windowsInWords(plan),
          plan.opens.join(' ') || 'no model',
        ])
        return { data: formatTable(style, columns, rows) }
      })
    })
}
