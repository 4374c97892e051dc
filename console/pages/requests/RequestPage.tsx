import { Link, useParams } from '@tanstack/react-router'
import { MessagesSquare } from 'lucide-react'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { useRequest } from '../../queries/requests.ts'
import { buttonClass } from '../../ui/Button.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { Page, PageHeader } from '../../ui/layout.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { RequestDetailView } from './RequestDetailView.tsx'

export function RequestPage() {
  const { shell, requests } = useMessages()
  const { request: id = '' } = useParams({ strict: false })
  const query = useRequest(id)
  return (
    <Page>
      <PageHeader
        title={id}
        about={
          <Link to="/requests" className="hover:text-ink hover:underline">
            {shell.pageTitles.requests}
          </Link>
        }
        actions={
          <>
            <CopyButton text={id} label={requests.detail.copyId} look="button" />
            {query.data !== undefined && (
              <Link to="/playground" search={{ model: query.data.model }} className={buttonClass('primary')}>
                <MessagesSquare aria-hidden="true" />
                {requests.detail.openModel}
              </Link>
            )}
          </>
        }
      />
      <QueryView query={query} lines={8}>
        {(request) => <RequestDetailView request={request} />}
      </QueryView>
    </Page>
  )
}
