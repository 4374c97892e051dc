import { useState } from 'react'
import { now } from '../../lib/clock.ts'
import type { ConsoleProblem } from '../../lib/console-problem.ts'
import { useNow } from '../../lib/useNow.ts'
import { ProblemNote } from '../../ui/ProblemNote.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'

/** The same sentence for an unknown e-mail and a wrong password; after too many attempts, how long it still takes. */
export function SignInRefusal({ problem }: { problem: ConsoleProblem }) {
  const { people } = useWords()
  if (problem.status === 429 && problem.retryAfter !== null) return <Locked seconds={problem.retryAfter} />
  if (problem.status === 401 || problem.status === 403) return <Refused text={people.signIn.refused} />
  return <ProblemNote error={problem} />
}

function Locked({ seconds }: { seconds: number }) {
  const { people } = useWords()
  const formats = useFormats()
  const [until] = useState(() => now() + seconds * 1_000)
  const left = Math.max(0, Math.ceil((until - useNow(1_000)) / 1_000)) * 1_000
  if (left === 0) return null
  return (
    <p role="timer" aria-live="off" className={REFUSAL}>
      {people.signIn.locked(formats.duration(left))}
    </p>
  )
}

const Refused = ({ text }: { text: string }) => (
  <p role="alert" className={REFUSAL}>
    {text}
  </p>
)

const REFUSAL = 'figures rounded-md bg-bad-wash px-3 py-2 font-medium text-bad'
