import type { UseInfiniteQueryResult, UseQueryResult } from '@tanstack/react-query'
import { CircleAlert } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { asProblem, type ConsoleProblem } from '../lib/console-problem.ts'
import { useFormats, useMessages } from '../messages/MessagesProvider.tsx'
import { Button } from './Button.tsx'

export type QueryState<Data> = Pick<UseQueryResult<Data>, 'data' | 'error' | 'refetch'>

interface QueryViewProps<Data> {
  readonly query: QueryState<Data>
  /** Lines of the placeholder, about as many as will come. */
  readonly lines?: number
  readonly children: (data: Data) => ReactNode
}

/** Shows the data of a query, a placeholder while it loads, or its error. */
export function QueryView<Data>({ query, lines = 3, children }: QueryViewProps<Data>) {
  const retry = () => void query.refetch()
  if (query.data !== undefined) {
    return (
      <>
        {query.error !== null && <ProblemNote error={query.error} onRetry={retry} />}
        {children(query.data)}
      </>
    )
  }
  return (
    <div className="p-4">
      {query.error === null ? <Skeleton lines={lines} /> : <ProblemNote error={query.error} onRetry={retry} />}
    </div>
  )
}

/** Faster responses show no placeholder, which would flicker. */
const PATIENCE_MS = 300

export function Skeleton({ lines = 3 }: { lines?: number }) {
  const { common } = useMessages()
  const [late, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div aria-busy="true" className="grid min-h-8 gap-3" style={{ minBlockSize: `${lines * 1.75}rem` }}>
      {late && <span className="sr-only">{common.loading}</span>}
      {late &&
        Array.from({ length: lines }, (_, line) => `${70 + ((line * 37) % 30)}%`).map((width) => (
          <div key={width} className="breathe h-4 rounded bg-sunken" style={{ inlineSize: width }} />
        ))}
    </div>
  )
}

type Growing = Pick<UseInfiniteQueryResult, 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'>

/** The "Show more" button of a paged list. */
export function ShowMore({ query }: { query: Growing }) {
  const { common } = useMessages()
  if (!query.hasNextPage) return null
  return (
    <div className="flex justify-center border-t border-line p-3">
      <Button busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        {common.showMore}
      </Button>
    </div>
  )
}

export function ProblemNote({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { common } = useMessages()
  const textOf = useProblemText()
  const problem = asProblem(error)
  return (
    <div role="alert" className="flex flex-wrap items-center gap-x-4 gap-y-2 rounded-lg bg-bad-wash px-3 py-2">
      <CircleAlert aria-hidden="true" className="size-4 shrink-0 text-bad" />
      <div className="min-w-40 flex-1">
        <p className="font-medium break-words whitespace-pre-line text-bad">{textOf(problem)}</p>
        {problem.requestId !== null && problem.requestId !== '' && (
          <p className="text-xs break-all text-soft">{common.requestId(problem.requestId)}</p>
        )}
      </div>
      {onRetry !== undefined && <Button onClick={onRetry}>{common.retry}</Button>}
    </div>
  )
}

/** The message for the code, or the server's message if the code has none. */
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
