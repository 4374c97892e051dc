import type { RefObject } from 'react'
import { useWords } from '../../words/WordsProvider.tsx'
import { CallResults } from './CallResults.tsx'
import { Composer } from './Composer.tsx'
import { Examples } from './Examples.tsx'
import { RunNote } from './RunNote.tsx'
import { RunningAnswer } from './RunningAnswer.tsx'
import { EXAMPLE_TOOLS } from './read-tools.ts'
import { Talk } from './Talk.tsx'
import type { Conversation } from './useConversation.ts'
import { useStayAtEnd } from './useStayAtEnd.ts'

interface TalkTabProps {
  readonly talk: Conversation
  readonly field: RefObject<HTMLTextAreaElement | null>
  readonly onTools: (tools: string) => void
}

/** Longer than this nobody wants an answer to be read to them in one breath. */
const SPOKEN_MAX = 4_000

export function TalkTab({ talk, field, onTools }: TalkTabProps) {
  const { run, said, running } = talk
  const end = useStayAtEnd(run)
  const pick = (id: string, prompt: string) => {
    if (id === 'tool') onTools(EXAMPLE_TOOLS)
    talk.setText(prompt)
    field.current?.focus()
  }
  return (
    <div className="grid grid-cols-1 gap-3">
      {said.length === 0 && !running && <Examples onPick={pick} />}
      <Talk said={said} onEdit={talk.edit} locked={running} />
      {running && run !== undefined && <RunningAnswer run={run} />}
      {run !== undefined && !running && <RunNote run={run} />}
      <Spoken talk={talk} />
      <div ref={end} className="border-t border-line pt-3">
        {talk.calls.length > 0 && !running ? (
          <CallResults key={said.length} calls={talk.calls} blocked={talk.blocked} onSend={talk.sendResults} />
        ) : (
          <Composer
            field={field}
            text={talk.text}
            onText={talk.setText}
            running={running}
            blocked={talk.blocked}
            again={talk.again}
            onSend={talk.send}
            onStop={talk.stop}
          />
        )}
      </div>
    </div>
  )
}

/** For whoever listens: the answer, once it is whole. */
function Spoken({ talk: { run } }: { talk: Conversation }) {
  const { playground } = useWords()
  const spoken =
    run === undefined || run.state === 'failed'
      ? ''
      : run.state === 'running'
        ? playground.waiting
        : run.answer.text.slice(0, SPOKEN_MAX)
  return (
    <p aria-live="polite" className="sr-only">
      {spoken}
    </p>
  )
}
