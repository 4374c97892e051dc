import { seriesColour, seriesPattern } from './series.ts'

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
