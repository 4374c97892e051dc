import { useNow } from '../lib/useNow.ts'
import { useFormats } from '../words/WordsProvider.tsx'

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
