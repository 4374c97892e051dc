import { Chart, type Placed } from './Chart.tsx'
import type { Plot } from './Frame.tsx'
import { type ChartData, seriesPattern } from './series.ts'

const GAP = 0.26
const BAR_MAX = 44

interface StackedBarsProps {
  readonly data: ChartData
  /** The whole at each step as a line, which stays when parts of it are taken out of the picture. */
  readonly whole?: readonly number[]
  /** What a click on a part leads to. The keyboard needs another way there. */
  readonly onPick?: (series: string) => void
}

/** Series on top of each other, step by step: parts of a whole that is worth reading too. */
export const StackedBars = ({ data, whole = [], onPick }: StackedBarsProps) => (
  <Chart
    data={data}
    reach={(shown) =>
      Math.max(
        0,
        ...whole,
        ...data.steps.map((_, step) => shown.reduce((sum, each) => sum + (each.values[step] ?? 0), 0)),
      )
    }
    draw={(plot, shown, chart) => (
      <>
        {data.steps.map((step, index) => (
          <Stack key={step.id} plot={plot} shown={shown} chart={chart} step={index} onPick={onPick} />
        ))}
        <TotalLine plot={plot} values={whole} />
      </>
    )}
  />
)

interface StackProps {
  readonly plot: Plot
  readonly shown: readonly Placed[]
  readonly chart: string
  readonly step: number
  readonly onPick: ((series: string) => void) | undefined
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
      // biome-ignore lint/a11y/noStaticElementInteractions: the picture is hidden from whoever listens; rows of a table do the same.
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

/** What all of it comes to at each step, over the bars that are its parts. */
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
