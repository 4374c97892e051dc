import { ChartColumn, Table } from 'lucide-react'
import { type KeyboardEvent, type PointerEvent, type RefObject, useId, useLayoutEffect, useRef, useState } from 'react'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { Button } from '../Button.tsx'
import { type ChartData, type Series, seriesPattern } from './chart-data.ts'
import {
  ChartTable,
  Frame,
  HEIGHT,
  Legend,
  Patterns,
  type Plot,
  planPlot,
  Readout,
  SERIES_LABEL_WIDTH,
  SeriesLabels,
} from './chart-parts.tsx'
import { niceTicks } from './nice-ticks.ts'

const GAP = 0.26
const BAR_MAX = 44

interface StackedBarsProps {
  readonly data: ChartData
  /** The total of each step, drawn as a line while series are hidden. */
  readonly whole?: readonly number[]
  /** Called on a click on a segment. Keyboard users need another control for it. */
  readonly onPick?: ((series: string) => void) | undefined
}

/** A visible series with its index among all, which decides its colour. */
type Placed = Series & { readonly place: number }

const TICKS = 4
/** A narrower chart has only its legend. */
const LABELLED_FROM_WIDTH = 560

export function StackedBars({ data, whole = [], onPick }: StackedBarsProps) {
  const { charts } = useMessages()
  const [asTable, setAsTable] = useState(false)
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set())
  const chart = useId()
  const toggle = (id: string) => setHidden(hidden.has(id) ? without(hidden, id) : new Set([...hidden, id]))
  const Icon = asTable ? ChartColumn : Table
  return (
    <figure className="grid gap-2">
      {asTable ? (
        <ChartTable data={data} />
      ) : (
        <Picture data={data} whole={whole} onPick={onPick} hidden={hidden} chart={chart} />
      )}
      <figcaption className="flex flex-wrap items-center justify-between gap-2">
        <span className="sr-only">{data.caption}</span>
        {data.series.length > 1 && !asTable ? (
          <Legend chart={chart} series={data.series} hidden={hidden} onToggle={toggle} />
        ) : (
          <span />
        )}
        <Button tone="quiet" className="ms-auto text-xs" onClick={() => setAsTable(!asTable)}>
          <Icon aria-hidden="true" />
          {asTable ? charts.showChart : charts.showTable}
        </Button>
      </figcaption>
    </figure>
  )
}

const without = (ids: ReadonlySet<string>, id: string) => new Set([...ids].filter((each) => each !== id))

interface PictureProps {
  readonly data: ChartData
  readonly whole: readonly number[]
  readonly onPick: StackedBarsProps['onPick']
  readonly hidden: ReadonlySet<string>
  readonly chart: string
}

function Picture({ data, whole, onPick, hidden, chart }: PictureProps) {
  const { charts } = useMessages()
  const [box, width] = useWidth<HTMLDivElement>()
  const [here, setHere] = useState<number | undefined>()
  const { steps, tick, unit } = data
  const shown = data.series.map((series, place) => ({ ...series, place })).filter(({ id }) => !hidden.has(id))
  const sums = steps.map((_, step) => shown.reduce((sum, each) => sum + (each.values[step] ?? 0), 0))
  const most = Math.max(0, ...whole, ...sums)
  const isLabelled = most > 0 && shown.length > 1 && width >= LABELLED_FROM_WIDTH
  const plotWidth = isLabelled ? width - SERIES_LABEL_WIDTH : width
  const plot = planPlot(plotWidth, steps.length, niceTicks(most, TICKS, unit), tick)
  const point = (event: PointerEvent) => {
    const inside = event.clientX - event.currentTarget.getBoundingClientRect().left - plot.left
    const step = Math.floor(inside / plot.bandWidth)
    setHere(step >= 0 && step < steps.length ? step : undefined)
  }
  const press = (event: KeyboardEvent) => {
    const next = stepAfter(event.key, here, steps.length)
    if (next === undefined) return
    event.preventDefault()
    setHere(next)
  }
  return (
    <div ref={box} className="relative">
      <div
        role="slider"
        tabIndex={0}
        aria-label={`${data.caption} ${charts.keys}`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, steps.length - 1)}
        aria-valuenow={here ?? 0}
        aria-valuetext={valueText(data, shown, here ?? 0)}
        onPointerMove={point}
        onPointerLeave={() => setHere(undefined)}
        onFocus={(event) => {
          if (event.currentTarget.matches(':focus-visible')) setHere(here ?? 0)
        }}
        onBlur={() => setHere(undefined)}
        onKeyDown={press}
        className="touch-pan-y rounded-md"
      >
        <svg aria-hidden="true" width={width} height={HEIGHT} className="block">
          <Patterns chart={chart} count={data.series.length} />
          <Frame plot={plot} steps={steps} tick={tick}>
            {here !== undefined && (
              <rect x={plot.x(here)} y={0} width={plot.bandWidth} height={HEIGHT - 20} rx="4" fill="var(--hover)" />
            )}
            {steps.map((step, index) => (
              <Stack key={step.id} plot={plot} shown={shown} chart={chart} step={index} onPick={onPick} />
            ))}
            {hidden.size > 0 && <TotalLine plot={plot} values={whole} />}
            {isLabelled && <SeriesLabels plot={plot} shown={shown} sums={sums} />}
          </Frame>
        </svg>
      </div>
      {most === 0 && <p className="absolute inset-0 grid place-items-center text-faint">{charts.nothing}</p>}
      {here !== undefined && most > 0 && (
        <Readout data={data} shown={shown} step={here} at={plot.x(here) + plot.bandWidth / 2} width={width} />
      )}
    </div>
  )
}

function stepAfter(key: string, here: number | undefined, count: number): number | undefined {
  const last = count - 1
  const to = { ArrowRight: (here ?? -1) + 1, ArrowLeft: (here ?? count) - 1, Home: 0, End: last }[key]
  return to === undefined || count === 0 ? undefined : Math.min(last, Math.max(0, to))
}

function valueText(data: ChartData, shown: readonly Placed[], step: number): string {
  const parts = shown
    .filter(({ values }) => (values[step] ?? 0) !== 0)
    .map(({ name, texts }) => `${name} ${texts[step]}`)
  const total = data.totals?.[step]
  return [data.steps[step]?.long, ...parts, total].filter(Boolean).join(', ')
}

/** Observes the width of an element, because charts are drawn in real pixels. */
function useWidth<Shape extends Element>(): [RefObject<Shape | null>, number] {
  const element = useRef<Shape>(null)
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    if (element.current === null) return
    const measure = (entry: Element) => setWidth(Math.round(entry.getBoundingClientRect().width))
    measure(element.current)
    const observer = new ResizeObserver(([entry]) => entry && measure(entry.target))
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [])
  return [element, width]
}

interface StackProps {
  readonly plot: Plot
  readonly shown: readonly Placed[]
  readonly chart: string
  readonly step: number
  readonly onPick: StackedBarsProps['onPick']
}

function Stack({ plot, shown, chart, step, onPick }: StackProps) {
  const width = Math.min(BAR_MAX, Math.max(1, plot.bandWidth * (1 - GAP)))
  const x = plot.x(step) + (plot.bandWidth - width) / 2
  let below = 0
  return shown.map(({ id, place, values }) => {
    const value = values[step] ?? 0
    if (value <= 0) return null
    const [from, to] = [plot.y(below), plot.y(below + value)]
    below += value
    return (
      // biome-ignore lint/a11y/noStaticElementInteractions: the chart is hidden from screen readers; rows of a table do the same.
      <rect
        key={id}
        onClick={onPick && (() => onPick(id))}
        className={onPick && 'cursor-pointer hover:opacity-80'}
        x={x}
        y={to}
        width={width}
        height={Math.max(0.75, from - to)}
        rx={width > 6 ? 1.5 : 0}
        fill={`url(#${seriesPattern(chart, place)})`}
      />
    )
  })
}

function TotalLine({ plot, values }: { plot: Plot; values: readonly number[] }) {
  if (values.length < 2) return null
  const points = values.map((value, step) => `${plot.x(step) + plot.bandWidth / 2} ${plot.y(value)}`)
  return (
    <polyline
      points={points.join(' ')}
      fill="none"
      stroke="var(--ink)"
      strokeOpacity="0.55"
      strokeWidth="1.5"
      strokeLinejoin="round"
      pointerEvents="none"
    />
  )
}
