import { Link, useNavigate } from '@tanstack/react-router'
import { ArrowLeftRight } from 'lucide-react'
import { buttonClass } from '../../ui/Button.tsx'
import { DataTable } from '../../ui/DataTable.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { useRequestColumns } from '../requests/useRequestColumns.tsx'
import type { Standing } from './StandingTiles.tsx'

/** The latest requests, as they come. */
export function RecentRequests({ requests }: { requests: Standing['recent'] }) {
  const { overview: words } = useWords()
  const navigate = useNavigate()
  const columns = useRequestColumns()
  return (
    <Panel
      title={words.recent}
      padding="flush"
      actions={
        <Link to="/requests" className="text-sm text-accent hover:underline">
          {words.moreRequests}
        </Link>
      }
    >
      {requests.length === 0 ? (
        <Empty
          icon={ArrowLeftRight}
          title={words.noRecent.title}
          text={words.noRecent.text}
          action={
            <Link to="/connect" className={buttonClass('plain')}>
              {words.noRecent.action}
            </Link>
          }
        />
      ) : (
        <DataTable
          caption={words.recent}
          columns={columns}
          rows={requests}
          rowId={({ id }) => id}
          onOpen={({ id }) => void navigate({ to: '/requests/$request', params: { request: id } })}
        />
      )}
    </Panel>
  )
}
