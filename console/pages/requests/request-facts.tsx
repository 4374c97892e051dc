import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { useNow } from '../../lib/clock.ts'
import type { BadgeTone } from '../../ui/Badge.tsx'
import type { Catalogue } from '../../messages/catalogue.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { messageFor } from '../../messages/message-for.ts'

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
export function useOutcome(): (request: Ended) => Outcome {
  const { requests } = useMessages()
  return (request) => {
    const { state, outcome } = request
    if (state === 'open' || outcome === null) {
      return { label: requests.running, tone: 'accent', text: requests.runningText }
    }
    return {
      label: messageFor(requests.outcomes, outcome),
      tone: TONES[outcome] ?? 'bad',
      text: textOf(requests, request, outcome),
    }
  }
}

type Ended = Pick<RequestItem, 'state' | 'outcome' | 'kind' | 'tokens'>

/** What happened, what is charged to whom, and who counted it: one sentence each, so that none contradicts another. */
function textOf(messages: Catalogue['requests'], { state, kind, tokens }: Ended, outcome: string): string {
  if (state === 'released') return sentences(messageFor(messages.free, outcome, ''), messages.nothingOwed)
  const owed = messages.owed[kind][outcome === 'completed' ? 'whole' : 'part']
  const counted = tokens === null ? '' : tokens.estimated ? messages.estimatedText : messages.countedText
  return sentences(messageFor(messages.happened, outcome, ''), owed, counted)
}

const sentences = (...each: string[]): string => each.filter((sentence) => sentence !== '').join(' ')

/** How long it has been running, second by second. */
export function RunningFor({ since }: { since: string }) {
  const formats = useFormats()
  // The second that has begun: nothing that runs takes none, whatever the clock of this computer says.
  const seconds = Math.ceil((useNow(1_000) - Date.parse(since)) / 1_000)
  return formats.duration(Math.max(1, seconds) * 1_000)
}
