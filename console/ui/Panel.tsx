import type { UseQueryResult } from '@tanstack/react-query'
import { type ReactNode, useId } from 'react'
import { cx } from '../lib/cx.ts'
import { ProblemNote } from './ProblemNote.tsx'
import { Skeleton } from './Skeleton.tsx'

interface PanelProps {
  readonly title?: string
  readonly about?: string
  readonly actions?: ReactNode
  readonly children: ReactNode
  /** `flush`: what is inside reaches the edges, as tables do. */
  readonly padding?: 'inside' | 'flush'
}

/** A part of a page with a name of its own. */
export function Panel({ title, about, actions, children, padding = 'inside' }: PanelProps) {
  const id = useId()
  return (
    <section
      aria-labelledby={title === undefined ? undefined : id}
      className="min-w-0 rounded-xl border border-line bg-surface"
    >
      {title !== undefined && (
        <header className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1 px-4 pt-3 pb-1">
          <div className="min-w-0">
            <h2 id={id} className="text-lg font-semibold">
              {title}
            </h2>
            {about !== undefined && <p className="text-sm text-faint">{about}</p>}
          </div>
          {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </header>
      )}
      <div
        className={cx(
          padding === 'inside' ? 'px-4 pt-2 pb-4' : 'pb-1',
          title === undefined && padding === 'inside' && 'pt-4',
        )}
      >
        {children}
      </div>
    </section>
  )
}

export type Asked<Data> = Pick<UseQueryResult<Data>, 'data' | 'error' | 'refetch'>

interface AnswerProps<Data> {
  readonly question: Asked<Data>
  /** Lines of the placeholder, about as many as will come. */
  readonly lines?: number
  readonly children: (data: Data) => ReactNode
}

/** What a question has answered; until then its placeholder, or why there is no answer. A slow one holds up nothing else. */
export function Answer<Data>({ question, lines = 3, children }: AnswerProps<Data>) {
  const retry = () => void question.refetch()
  if (question.data !== undefined) {
    return (
      <>
        {question.error !== null && <ProblemNote error={question.error} onRetry={retry} />}
        {children(question.data)}
      </>
    )
  }
  return (
    <div className="p-4">
      {question.error === null ? <Skeleton lines={lines} /> : <ProblemNote error={question.error} onRetry={retry} />}
    </div>
  )
}
