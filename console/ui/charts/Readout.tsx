import { useMessages } from '../../messages/MessagesProvider.tsx'
import { type ChartData, type Series, seriesColour } from './series.ts'

interface ReadoutProps {
  readonly data: ChartData
  readonly shown: readonly (Series & { readonly place: number })[]
  readonly step: number
  /** From the start of the chart, in pixels. */
  readonly at: number
  readonly width: number
}

/** What stands at one step, beside it. It only repeats what the point says to whoever listens. */
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
