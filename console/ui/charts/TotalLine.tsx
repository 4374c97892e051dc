import type { Plot } from './Frame.tsx'

/** What all of it comes to at each step, over the bars that are its parts. */
export function TotalLine({ plot, values }: { plot: Plot; values: readonly number[] }) {
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
