import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { EXIT } from './exit-codes.ts'
import { formatTable } from './table.ts'

const COLUMNS = ['id', 'wire', 'dialect', 'address', 'key', 'lanes'].map((title) => ({ title }))

export function addUpstreamsList(upstreams: Command, context: CommandContext): void {
  upstreams
    .command('list')
    .description('the providers of the configuration, and what runs on each')
    .action(() => {
      const answer = context.deps.upstreams.list(context.place())
      if (answer.kind === 'invalid') return context.fail(EXIT.usage, answer.message)
      const rows = answer.value.map(({ id, wire, dialect, base_url: address, has_key: hasKey, lanes }) => [
        ...[id, wire, dialect, address ?? 'built in', hasKey ? 'configured' : 'none'],
        lanes.map((lane) => lane.model).join(' ') || 'none',
      ])
      const nothing = { data: '', aside: 'The configuration has no upstream.\n' }
      const shown = rows.length === 0 ? nothing : { data: formatTable(context.style, COLUMNS, rows) }
      return context.print({ upstreams: answer.value }, shown)
    })
}
