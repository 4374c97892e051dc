import { Link, useParams } from '@tanstack/react-router'
import { MessagesSquare, SearchX } from 'lucide-react'
import { asProblem } from '../../lib/console-problem.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { useRequest } from '../../queries/requests.ts'
import { useMay } from '../../queries/session.ts'
import { buttonClass } from '../../ui/Button.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { Empty, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { RequestDetailView, useTitle } from './RequestDetailView.tsx'

export function RequestPage() {
  const { shell, requests, receipt } = useMessages()
  const { request: id = '' } = useParams({ strict: false })
  const query = useRequest(id)
  const titleOf = useTitle()
  const may = useMay()
  const isMissing = query.error !== null && asProblem(query.error).status === 404
  return (
    <Page>
      <PageHeader
        title={query.data === undefined ? id : titleOf(query.data)}
        about={
          <>
            <Link to="/requests" className="hover:text-ink hover:underline">
              {shell.pageTitles.requests}
            </Link>{' '}
            / <code>{id}</code>
          </>
        }
        actions={
          <>
            <CopyButton text={id} label={requests.detail.copyId} look="button" />
            {query.data !== undefined && may('member') && (
              <Link to="/playground" search={{ model: query.data.model }} className={buttonClass('primary')}>
                <MessagesSquare aria-hidden="true" />
                {requests.detail.openModel}
              </Link>
            )}
          </>
        }
      />
      {isMissing ? (
        <Panel>
          <Empty
            icon={SearchX}
            title={receipt.missing.title}
            text={receipt.missing.text}
            action={
              <span className="flex flex-wrap justify-center gap-2">
                <Link to="/requests" className={buttonClass('primary')}>
                  {receipt.missing.toRequests}
                </Link>
                <Link to="/usage" search={{ range: 'today' }} className={buttonClass()}>
                  {receipt.missing.toUsage}
                </Link>
              </span>
            }
          />
        </Panel>
      ) : (
        <QueryView query={query} lines={8}>
          {(request) => <RequestDetailView request={request} />}
        </QueryView>
      )}
    </Page>
  )
}
