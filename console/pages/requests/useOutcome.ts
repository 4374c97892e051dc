import type { AnswerOf } from '../../../src/contract/console-api.ts'
import type { BadgeTone } from '../../ui/Badge.tsx'
import { useWords } from '../../words/WordsProvider.tsx'

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
    const labels: Readonly<Record<string, string>> = requests.outcomes
    const texts: Readonly<Record<string, string>> = state === 'released' ? requests.free : requests.charged
    return { label: labels[outcome] ?? outcome, tone: TONES[outcome] ?? 'bad', text: texts[outcome] ?? '' }
  }
}
