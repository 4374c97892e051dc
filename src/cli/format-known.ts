import type { KnownView } from '../account/models/known-view.ts'
import type { Style } from './style.ts'
import { formatTable } from './table.ts'

/** The snapshot as a table. Longer requests may cost more: then there is a plus behind the price. */
export function formatKnown(style: Style, models: readonly KnownView[]): string {
  const columns = [
    { title: 'dialect' },
    { title: 'model' },
    { title: 'efforts' },
    { title: 'context', align: 'right' as const },
    { title: 'output max', align: 'right' as const },
    { title: 'input', align: 'right' as const },
    { title: 'cached', align: 'right' as const },
    { title: 'cache write', align: 'right' as const },
    { title: 'output', align: 'right' as const },
  ]
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
  return formatTable(style, columns, rows)
}
