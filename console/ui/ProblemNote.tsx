import { CircleAlert } from 'lucide-react'
import { asProblem, type ConsoleProblem } from '../lib/console-problem.ts'
import { useFormats, useMessages } from '../messages/MessagesProvider.tsx'
import { Button } from './Button.tsx'

/** What went wrong, where it went wrong, with its request id and, where it can be asked again, a button. */
export function ProblemNote({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { common } = useMessages()
  const textOf = useProblemText()
  const problem = asProblem(error)
  return (
    <div role="alert" className="flex flex-wrap items-center gap-x-4 gap-y-2 rounded-lg bg-bad-wash px-3 py-2">
      <CircleAlert aria-hidden="true" className="size-4 shrink-0 text-bad" />
      <div className="min-w-40 flex-1">
        <p className="font-medium break-words text-bad">{textOf(problem)}</p>
        {problem.requestId !== null && problem.requestId !== '' && (
          <p className="text-xs break-all text-soft">{common.requestId(problem.requestId)}</p>
        )}
      </div>
      {onRetry !== undefined && <Button onClick={onRetry}>{common.retry}</Button>}
    </div>
  )
}

/** A problem in the person's language where the catalogue knows its code, else in the server's own words. */
export function useProblemText(): (problem: ConsoleProblem) => string {
  const { problems } = useMessages()
  const formats = useFormats()
  const known: Readonly<Record<string, string>> = problems.codes
  return ({ code, message, retryAfter }) => {
    const text = known[code]
    if (text === undefined) return message
    return retryAfter === null ? text : `${text} ${problems.again(formats.duration(retryAfter * 1_000))}`
  }
}
