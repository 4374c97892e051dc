import type { UseInfiniteQueryResult } from '@tanstack/react-query'
import { useWords } from '../words/WordsProvider.tsx'
import { Button } from './Button.tsx'

type Growing = Pick<UseInfiniteQueryResult, 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'>

/** The end of a list that comes in pages. */
export function ShowMore({ question }: { question: Growing }) {
  const { common } = useWords()
  if (!question.hasNextPage) return null
  return (
    <div className="flex justify-center border-t border-line p-3">
      <Button busy={question.isFetchingNextPage} onClick={() => void question.fetchNextPage()}>
        {common.showMore}
      </Button>
    </div>
  )
}
