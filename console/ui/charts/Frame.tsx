import type { ReactNode } from 'react'
import { labelStride } from './nice-ticks.ts'
import type { ChartData, ChartStep } from './series.ts'

export const HEIGHT = 220
const TOP = 10
const BOTTOM = 24
const LABEL_WIDTH = 72
const DIGIT_WIDTH = 7

/** Where a chart has its room: everything else follows from it. */
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

/** Axes and grid, for the eye only: whoever listens has the points and the table. */
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
