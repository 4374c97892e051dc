import { inOpeningOrder } from '../../lib/in-opening-order.ts'
import { itemsOf } from '../../questions/question.ts'
import { useWindowRows } from '../../questions/useWindowRows.ts'
import { Answer } from '../../ui/Panel.tsx'
import { ShowMore } from '../../ui/ShowMore.tsx'
import { useIsRead } from '../../ui/useIsRead.ts'
import { useWords } from '../../words/WordsProvider.tsx'
import { RequestTable } from '../requests/RequestTable.tsx'
import { WindowSum } from './WindowSum.tsx'

const BESIDE_THE_POINT = ['tokens', 'timing'] as const

/** The requests that make a bar, with every digit, and what they come to. */
export function WindowRows({ window, title }: { window: string; title: string }) {
  const { plan } = useWords()
  const { isRead, handlers } = useIsRead({ scrolling: 'is-free' })
  const question = useWindowRows(window, { still: isRead })
  return (
    <section aria-label={plan.rowsOf(title)} {...handlers} className="-mx-4 mt-4 -mb-4 border-t border-line">
      <Answer question={question} lines={5}>
        {(data) => {
          const rows = inOpeningOrder(itemsOf(data))
          const bar = data.pages.at(-1)?.window
          return (
            <>
              {bar !== undefined && (
                <WindowSum
                  bar={bar}
                  rows={rows}
                  hasMore={question.hasNextPage}
                  onAgain={() => void question.refetch()}
                />
              )}
              {rows.length === 0 ? (
                <p className="px-4 py-6 text-center text-soft">{plan.rowsNone}</p>
              ) : (
                <RequestTable caption={plan.rowsOf(title)} rows={rows} without={BESIDE_THE_POINT} digits="exact" />
              )}
            </>
          )
        }}
      </Answer>
      <ShowMore question={question} />
    </section>
  )
}
