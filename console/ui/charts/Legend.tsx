import { cx } from '../../lib/cx.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { type Series, seriesColour, seriesPattern } from './series.ts'

interface LegendProps {
  readonly chart: string
  readonly series: readonly Series[]
  readonly hidden: ReadonlySet<string>
  readonly onToggle: (id: string) => void
}

/** Names with their colour and pattern; pressing one takes its series out of the picture and back. */
export function Legend({ chart, series, hidden, onToggle }: LegendProps) {
  const { charts } = useMessages()
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

/** One for each colour, so that nobody depends on colours: plain, stripes one way and the other, dots, and so on. */
const STROKES = [
  '',
  'M0 8L8 0M-2 2L2 -2M6 10L10 6',
  'M0 0L8 8M-2 6L2 10M6 -2L10 2',
  'M0 4H8',
  'M4 0V8',
  'M0 4H8M4 0V8',
  'M2 2h1v1h-1zM6 6h1v1h-1z',
  'M0 8L8 0M0 0L8 8',
]

export function Patterns({ chart, count }: { chart: string; count: number }) {
  return (
    <defs>
      {STROKES.slice(0, count).map((stroke, index) => (
        <pattern
          key={seriesPattern(chart, index)}
          id={seriesPattern(chart, index)}
          width="8"
          height="8"
          patternUnits="userSpaceOnUse"
        >
          <rect width="8" height="8" fill={seriesColour(index)} />
          {stroke !== '' && <path d={stroke} stroke="var(--surface)" strokeOpacity="0.42" strokeWidth="1.25" />}
        </pattern>
      ))}
    </defs>
  )
}
