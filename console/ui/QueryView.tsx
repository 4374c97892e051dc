import type { UseInfiniteQueryResult, UseQueryResult } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { Button } from './Button.tsx'
import { ProblemNote } from './ProblemNote.tsx'

export type QueryState<Data> = Pick<UseQueryResult<Data>, 'data' | 'error' | 'refetch'>

interface QueryViewProps<Data> {
  readonly query: QueryState<Data>
  /** Lines of the placeholder, about as many as will come. */
  readonly lines?: number
  readonly children: (data: Data) => ReactNode
}

/** What a question has answered; until then its placeholder, or why there is no answer. A slow one holds up nothing else. */
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

/** What comes sooner than this needs no placeholder: it would only flicker. */
const PATIENCE_MS = 300

/** Grey lines where something is still on its way, once that takes long enough to be noticed. */
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

/** The end of a list that comes in pages. */
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
