import type { ReactNode } from 'react'
import { cx } from '../../lib/cx.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { Scrolled } from '../layout.tsx'
import { type ChartData, type ChartStep, placeLabels, type Series, seriesColour, seriesPattern } from './chart-data.ts'
import { labelStride } from './nice-ticks.ts'

export const HEIGHT = 220
const TOP = 10
const BOTTOM = 24
const LABEL_WIDTH = 72
const DIGIT_WIDTH = 7

/** The geometry of a chart. */
export interface Plot {
  readonly left: number
  readonly width: number
  readonly bandWidth: number
  readonly ticks: readonly number[]
  x(step: number): number
  y(value: number): number
}

export function planPlot(width: number, steps: number, ticks: readonly number[], tick: ChartData['tick']): Plot {
  const left = Math.max(...ticks.map((value) => tick(value).length)) * DIGIT_WIDTH + 10
  const inside = Math.max(0, width - left - 4)
  const bandWidth = steps === 0 ? 0 : inside / steps
  const top = ticks.at(-1) || 1
  return {
    left,
    width: inside,
    bandWidth,
    ticks,
    x: (step) => left + step * bandWidth,
    y: (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top),
  }
}

interface FrameProps {
  readonly plot: Plot
  readonly steps: readonly ChartStep[]
  readonly tick: ChartData['tick']
  readonly children: ReactNode
}

/** Axes and grid, hidden from screen readers. */
export function Frame({ plot, steps, tick, children }: FrameProps) {
  const stride = labelStride(steps.length, plot.width, LABEL_WIDTH)
  return (
    <>
      <g className="figures text-[11px]" fill="var(--faint)">
        {plot.ticks.map((value) => (
          <g key={value} transform={`translate(0 ${plot.y(value)})`}>
            <line
              x1={plot.left}
              x2={plot.left + plot.width}
              stroke="var(--line)"
              strokeDasharray={value === 0 ? '' : '2 3'}
            />
            <text x={plot.left - 8} dy="0.32em" textAnchor="end">
              {tick(value)}
            </text>
          </g>
        ))}
        {steps.map((step, index) =>
          index % stride === 0 ? (
            <text
              key={step.id}
              x={Math.max(LABEL_WIDTH / 2 - 8, plot.x(index) + plot.bandWidth / 2)}
              y={HEIGHT - 6}
              textAnchor="middle"
            >
              {step.short}
            </text>
          ) : null,
        )}
      </g>
      {children}
    </>
  )
}

/** What the names of the series take at the right of the bars. */
export const SERIES_LABEL_WIDTH = 116
const LABEL_GAP = 14
const NAME_LENGTH_MAX = 15

interface SeriesLabelsProps {
  readonly plot: Plot
  readonly shown: readonly (Series & { readonly place: number })[]
  readonly sums: readonly number[]
}

/** The name of each series beside its part of the last bar that is not empty. */
export function SeriesLabels({ plot, shown, sums }: SeriesLabelsProps) {
  const step = sums.findLastIndex((sum) => sum > 0)
  const values = shown.map((series) => series.values[step] ?? 0)
  const labels = placeLabels(values, { y: plot.y, gap: LABEL_GAP, top: LABEL_GAP })
  const x = plot.left + plot.width + 10
  return shown.map(({ id, name, place }, index) => {
    const y = labels[index]
    if (y === undefined) return null
    return (
      <g key={id} transform={`translate(${x} ${y})`} className="text-[11px]" pointerEvents="none">
        <rect y="-4" width="8" height="8" rx="2" fill={seriesColour(place)} />
        <text x="13" dy="0.34em" fill="var(--soft)">
          {name.length > NAME_LENGTH_MAX ? `${name.slice(0, NAME_LENGTH_MAX - 1)}…` : name}
        </text>
      </g>
    )
  })
}

interface LegendProps {
  readonly chart: string
  readonly series: readonly Series[]
  readonly hidden: ReadonlySet<string>
  readonly onToggle: (id: string) => void
}

/** The legend. A click hides or shows a series. */
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

/** One pattern per colour, shown where the system replaces colours (base.css). */
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
          {stroke !== '' && <path className="series-stroke" d={stroke} stroke="var(--surface)" strokeWidth="1.25" />}
        </pattern>
      ))}
    </defs>
  )
}

interface ReadoutProps {
  readonly data: ChartData
  readonly shown: readonly (Series & { readonly place: number })[]
  readonly step: number
  /** From the start of the chart, in pixels. */
  readonly at: number
  readonly width: number
}

/** The values at one step, hidden from screen readers, which hear the point. */
export function Readout({ data, shown, step, at, width }: ReadoutProps) {
  const { charts } = useMessages()
  const lines = shown.filter((series) => (series.values[step] ?? 0) !== 0)
  const total = data.totals?.[step]
  return (
    <div
      aria-hidden="true"
      className="card-shadow pointer-events-none absolute top-1 z-10 grid min-w-36 gap-1 rounded-lg border border-line bg-surface px-3 py-2 text-xs"
      style={at > width / 2 ? { insetInlineEnd: width - at + 12 } : { insetInlineStart: at + 12 }}
    >
      <p className="font-medium">{data.steps[step]?.long}</p>
      {lines.map((series) => (
        <p key={series.id} className="flex items-center justify-between gap-4">
          <span className="flex min-w-0 items-center gap-1.5">
            <span className="size-2 shrink-0 rounded-sm" style={{ background: seriesColour(series.place) }} />
            <span className="max-w-44 truncate text-soft">{series.name}</span>
          </span>
          <span className="figures">{series.texts[step]}</span>
        </p>
      ))}
      {total !== undefined && (
        <p className="flex justify-between gap-4 border-t border-line pt-1 font-medium">
          <span>{charts.total}</span>
          <span className="figures">{total}</span>
        </p>
      )}
    </div>
  )
}

/** The chart as a table. */
export function ChartTable({ data }: { data: ChartData }) {
  const { charts } = useMessages()
  const numbers = 'px-3 py-1.5 text-end figures whitespace-nowrap'
  return (
    <Scrolled label={data.caption} className="max-h-80 overflow-auto rounded-lg border border-line">
      <table className="w-full text-sm">
        <caption className="sr-only">{data.caption}</caption>
        <thead className="sticky top-0 bg-sunken text-xs text-faint">
          <tr>
            <th scope="col" className="px-3 py-1.5 text-start font-medium">
              {charts.when}
            </th>
            {data.series.map(({ id, name }) => (
              <th key={id} scope="col" className="px-3 py-1.5 text-end font-medium">
                {name}
              </th>
            ))}
            {data.totals !== undefined && (
              <th scope="col" className="px-3 py-1.5 text-end font-medium">
                {charts.total}
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {data.steps.map((step, index) => (
            <tr key={step.id} className="border-t border-line">
              <th scope="row" className="px-3 py-1.5 text-start font-normal whitespace-nowrap">
                {step.long}
              </th>
              {data.series.map(({ id, texts }) => (
                <td key={id} className={numbers}>
                  {texts[index]}
                </td>
              ))}
              {data.totals !== undefined && <td className={numbers}>{data.totals[index]}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolled>
  )
}
