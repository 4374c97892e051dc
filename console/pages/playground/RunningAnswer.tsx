import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import { CallShown } from './CallShown.tsx'
import { ReasoningFold } from './ReasoningFold.tsx'
import type { Run } from './run-turn.ts'
import { Message, Words } from './Talk.tsx'

/** An answer while it is being written. Whoever listens hears it when it is whole, not letter by letter. */
export function RunningAnswer({ run }: { run: Run }) {
  const { playground } = useWords()
  const formats = useFormats()
  const { text, reasoning, calls } = run.answer
  return (
    <div aria-busy="true">
      <Message who={playground.answerOf(run.model)} look="model">
        {reasoning !== '' && <ReasoningFold text={reasoning} />}
        <Words text={text} />
        {calls.map((call) => (
          <CallShown key={call.id} call={call} />
        ))}
        <p className="figures flex items-center gap-2 text-xs text-faint">
          <span aria-hidden="true" className="breathe size-2 rounded-full bg-accent" />
          {run.firstMs === undefined
            ? playground.waiting
            : `${playground.writing} · ${playground.first} ${formats.duration(run.firstMs)}`}
        </p>
      </Message>
    </div>
  )
}
