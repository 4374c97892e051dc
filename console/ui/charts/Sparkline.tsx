interface SparklineProps {
  readonly values: readonly number[]
  /** What it shows, in a sentence with numbers: nobody can read them from it. */
  readonly label: string
}

const WIDTH = 120
const HEIGHT = 28

/** A line without axes, as large as a word: how something went, beside the number that it came to. */
export function Sparkline({ values, label }: SparklineProps) {
  const top = Math.max(...values, 0) || 1
  const step = WIDTH / Math.max(1, values.length - 1)
  const points = values.map(
    (value, index) => `${(index * step).toFixed(1)} ${(HEIGHT - 2 - (value / top) * (HEIGHT - 4)).toFixed(1)}`,
  )
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      className="h-7 w-full max-w-48"
    >
      <title>{label}</title>
      {points.length > 0 && (
        <path d={`M0 ${HEIGHT}L${points.join('L')}L${WIDTH} ${HEIGHT}Z`} fill="var(--series-1)" opacity="0.14" />
      )}
      <polyline
        points={points.join(' ')}
        fill="none"
        stroke="var(--series-1)"
        strokeWidth="1.5"
        vectorEffect="non-scaling-stroke"
        strokeLinejoin="round"
      />
    </svg>
  )
}
