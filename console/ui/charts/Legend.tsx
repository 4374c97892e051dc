import { cx } from '../../lib/cx.ts'
import { useWords } from '../../words/WordsProvider.tsx'
import { Patterns } from './Patterns.tsx'
import { type Series, seriesPattern } from './series.ts'

interface LegendProps {
  readonly chart: string
  readonly series: readonly Series[]
  readonly hidden: ReadonlySet<string>
  readonly onToggle: (id: string) => void
}

/** Names with their colour and pattern; pressing one takes its series out of the picture and back. */
export function Legend({ chart, series, hidden, onToggle }: LegendProps) {
  const { charts } = useWords()
  return (
    <ul aria-label={charts.legend} className="flex flex-wrap gap-x-1 gap-y-0.5">
      {series.map(({ id, name }, place) => (
        <li key={id}>
          <button
            type="button"
            aria-pressed={!hidden.has(id)}
            onClick={() => onToggle(id)}
            className={cx(
              'flex min-h-6 items-center gap-1.5 rounded-md px-1.5 text-xs hover:bg-hover',
              hidden.has(id) ? 'text-faint line-through' : 'text-soft',
            )}
          >
            <svg width="12" height="12" aria-hidden="true" className={hidden.has(id) ? 'opacity-30' : undefined}>
              <Patterns chart={`${chart}-legend-${place}`} count={series.length} />
              <rect width="12" height="12" rx="3" fill={`url(#${seriesPattern(`${chart}-legend-${place}`, place)})`} />
            </svg>
            <span className="max-w-56 truncate">{name}</span>
          </button>
        </li>
      ))}
    </ul>
  )
}
