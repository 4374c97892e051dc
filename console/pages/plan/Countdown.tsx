import { useNow } from '../../lib/useNow.ts'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'

/** How long until a window starts anew, second by second; read aloud only when somebody goes there. */
export function Countdown({ end }: { end: string }) {
  const { plan } = useWords()
  const formats = useFormats()
  const left = Date.parse(end) - useNow(1_000)
  return (
    <p
      role="timer"
      aria-live="off"
      title={`${formats.exactTime(end)}\n${formats.utc(end)}`}
      className="figures font-medium"
    >
      {left <= 0 ? plan.resetsNow : plan.resetsIn(formats.duration(Math.max(1_000, Math.ceil(left / 1_000) * 1_000)))}
    </p>
  )
}
