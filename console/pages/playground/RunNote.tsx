import { ProblemNote } from '../../ui/ProblemNote.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { RequestName } from './AnswerFacts.tsx'
import type { Run } from './run-turn.ts'
import { SettledCharge } from './SettledCharge.tsx'

/** What there is to say about a turn that did not come to its end. */
export function RunNote({ run }: { run: Run }) {
  const { playground } = useWords()
  const { text, reasoning, calls } = run.answer
  // What was said stands in the conversation, and says there itself what has become of it.
  const silent = text === '' && reasoning === '' && calls.length === 0
  if (run.state === 'failed') {
    return (
      <div className="grid gap-1.5">
        <ProblemNote error={run.problem} />
        {run.requestId !== null && run.requestId !== '' && run.problem?.status === 0 && (
          <RequestName id={run.requestId} />
        )}
      </div>
    )
  }
  if (run.state !== 'stopped' || !silent) return null
  if (run.requestId !== null) return <SettledCharge request={run.requestId} state="stopped" />
  return (
    <p role="status" className="rounded-md bg-sunken px-3 py-2 text-soft">
      {playground.stoppedFree}
    </p>
  )
}
