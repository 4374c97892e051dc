import { useNavigate, useSearch } from '@tanstack/react-router'
import { Download, ReceiptText, SearchX } from 'lucide-react'
import type { ReactNode } from 'react'
import { fileAddress } from '../../lib/route-address.ts'
import { itemsOf } from '../../questions/question.ts'
import { useStatement } from '../../questions/useStatement.ts'
import { Button, buttonClass } from '../../ui/Button.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Answer, Panel } from '../../ui/Panel.tsx'
import { ShowMore } from '../../ui/ShowMore.tsx'
import { READ, useIsRead } from '../../ui/useIsRead.ts'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import { StatementFilterBar } from './StatementFilterBar.tsx'
import { StatementTable } from './StatementTable.tsx'
import { filterQuery, readFilters, type StatementFilters } from './statement-filters.ts'

/** Every movement of the wallet, newest first. The filters stand in the address, and the file has what they let through. */
export function StatementPanel({ fill }: { fill: ReactNode }) {
  const { wallet } = useWords()
  const { zone } = useFormats()
  const navigate = useNavigate()
  const filters = readFilters(useSearch({ strict: false }))
  const query = filterQuery(filters, zone)
  const { isRead, handlers } = useIsRead({ scrolling: 'is-free' })
  const question = useStatement(query, { still: isRead })
  const change = (next: StatementFilters) => void navigate({ to: '/wallet', search: { ...next }, replace: true })
  const isFiltered = Object.keys(filters).length > 0
  return (
    <Panel
      title={wallet.statement}
      padding="flush"
      actions={
        <a href={fileAddress('GET /wallet/statement.csv', query)} download className={buttonClass('plain')}>
          <Download aria-hidden="true" />
          {wallet.download}
        </a>
      }
    >
      <StatementFilterBar filters={filters} onChange={change} />
      <Answer question={question} lines={8}>
        {(data) => {
          const items = itemsOf(data)
          if (items.length > 0) {
            return (
              <div {...handlers} {...READ}>
                <StatementTable movements={items} />
              </div>
            )
          }
          if (!isFiltered) return <Empty icon={ReceiptText} title={wallet.none} text={wallet.noneText} action={fill} />
          const clear = <Button onClick={() => change({})}>{wallet.clear}</Button>
          return <Empty icon={SearchX} title={wallet.notFound} text={wallet.notFoundText} action={clear} />
        }}
      </Answer>
      <ShowMore question={question} />
    </Panel>
  )
}
