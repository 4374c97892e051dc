import { Chart, type Placed } from './Chart.tsx'
import type { Plot } from './Frame.tsx'
import { type ChartData, seriesColour } from './series.ts'

/** Dashes do for lines what patterns do for areas. */
const DASHES = ['', '6 4', '2 3', '10 4', '6 3 2 3', '1 4', '12 3 3 3', '4 4']

interface LineChartProps {
  readonly data: ChartData
  /** One series alone may be filled; several would hide each other. */
  readonly look?: 'line' | 'area'
}

export const LineChart = ({ data, look = 'line' }: LineChartProps) => (
  <Chart
    data={data}
    reach={(shown) => Math.max(0, ...shown.flatMap(({ values }) => values))}
    draw={(plot, shown, _chart, here) =>
      shown.map((series) => <Line key={series.id} plot={plot} series={series} look={look} here={here} />)
    }
  />
)

interface LineProps {
  readonly plot: Plot
  readonly series: Placed
  readonly look: 'line' | 'area'
  readonly here: number | undefined
}

function Line({ plot, series, look, here }: LineProps) {
  const middle = (step: number) => plot.x(step) + plot.bandWidth / 2
  const points = series.values.map((value, step) => `${middle(step)} ${plot.y(value)}`)
  const colour = seriesColour(series.place)
  const floor = plot.y(0)
  return (
    <g>
      {look === 'area' && points.length > 0 && (
        <path
          d={`M${middle(0)} ${floor}L${points.join('L')}L${middle(points.length - 1)} ${floor}Z`}
          fill={colour}
          opacity="0.16"
        />
      )}
      <polyline
        points={points.join(' ')}
        fill="none"
        stroke={colour}
        strokeWidth="2"
        strokeLinejoin="round"
        strokeLinecap="round"
        strokeDasharray={DASHES[series.place % DASHES.length]}
      />
      {here !== undefined && series.values[here] !== undefined && (
        <circle
          cx={middle(here)}
          cy={plot.y(series.values[here])}
          r="4"
          fill={colour}
          stroke="var(--surface)"
          strokeWidth="2"
        />
      )}
    </g>
  )
}
