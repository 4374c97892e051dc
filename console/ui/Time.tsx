import { now as clock, useNow } from '../lib/clock.ts'
import { useFormats } from '../messages/MessagesProvider.tsx'

interface TimeProps {
  /** ISO 8601, as the API sends it. */
  readonly at: string
  readonly as?: 'relative' | 'time' | 'day' | 'clock' | 'precise'
}

/** What is counted in seconds grows old while somebody looks. */
const YOUNG_MS = 90_000

/** An instant; hovered it says exactly when, here and in UTC. */
export function Time({ at, as = 'relative' }: TimeProps) {
  const formats = useFormats()
  const now = useNow(clock() - Date.parse(at) < YOUNG_MS ? 5_000 : 30_000)
  const shown = as === 'relative' ? formats.relative(at, now) : formats[as](at)
  return (
    <time dateTime={at} title={`${formats.exactTime(at)}\n${formats.utc(at)}`} className="figures whitespace-nowrap">
      {shown}
    </time>
  )
}

interface TimeTextProps {
  /** A sentence of the catalogue around it. */
  readonly say: (at: string) => string
  /** ISO 8601, as the API sends it. */
  readonly at: string
  readonly as?: 'time' | 'day' | 'relative'
}

/** An instant within a sentence; hovered it says exactly when, here and in UTC. */
export function TimeText({ say, at, as = 'time' }: TimeTextProps) {
  const formats = useFormats()
  const now = useNow()
  return (
    <time dateTime={at} title={`${formats.exactTime(at)}\n${formats.utc(at)}`}>
      {say(as === 'relative' ? formats.relative(at, now) : formats[as](at))}
    </time>
  )
}
