import { useNow } from '../../lib/useNow.ts'
import { useFormats } from '../../words/WordsProvider.tsx'

/** How long it has been running, second by second. */
export function RunningFor({ since }: { since: string }) {
  const formats = useFormats()
  // The second that has begun: nothing that runs takes none, whatever the clock of this computer says.
  const seconds = Math.ceil((useNow(1_000) - Date.parse(since)) / 1_000)
  return formats.duration(Math.max(1, seconds) * 1_000)
}
