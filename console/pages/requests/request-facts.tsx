import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { useNow } from '../../lib/clock.ts'
import type { BadgeTone } from '../../ui/Badge.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import { wordFor } from '../../words/word-for.ts'

export type RequestItem = AnswerOf<'GET /requests'>['items'][number]

interface Outcome {
  readonly label: string
  readonly tone: BadgeTone
  /** What that means for the answer and for the money. */
  readonly text: string
}

const TONES: Readonly<Record<string, BadgeTone>> = {
  completed: 'good',
  client_gone: 'held',
  drained: 'held',
  recovered: 'held',
}

/** How a request ended, in words. An outcome that these words do not know yet is shown as the server spells it. */
export function useOutcome(): (request: Pick<RequestItem, 'state' | 'outcome'>) => Outcome {
  const { requests } = useWords()
  return ({ state, outcome }) => {
    if (state === 'open' || outcome === null) {
      return { label: requests.running, tone: 'accent', text: requests.runningText }
    }
    return {
      label: wordFor(requests.outcomes, outcome),
      tone: TONES[outcome] ?? 'bad',
      text: wordFor(state === 'released' ? requests.free : requests.charged, outcome, ''),
    }
  }
}

/** How long it has been running, second by second. */
export function RunningFor({ since }: { since: string }) {
  const formats = useFormats()
  // The second that has begun: nothing that runs takes none, whatever the clock of this computer says.
  const seconds = Math.ceil((useNow(1_000) - Date.parse(since)) / 1_000)
  return formats.duration(Math.max(1, seconds) * 1_000)
}
