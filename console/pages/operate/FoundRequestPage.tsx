import { Link, useParams } from '@tanstack/react-router'
import { SearchX } from 'lucide-react'
import { asProblem } from '../../lib/console-problem.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { useFoundRequest } from '../../queries/operate.ts'
import { buttonClass } from '../../ui/Button.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { Empty, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { RequestDetailView, useTitle } from '../requests/RequestDetailView.tsx'

export function FoundRequestPage() {
  const { found } = useMessages().operator
  const { request: id = '' } = useParams({ strict: false })
  const query = useFoundRequest(id)
  const titleOf = useTitle()
  const isMissing = query.error !== null && asProblem(query.error).status === 404
  const again = (
    <Link to="/operate/requests" className={buttonClass()}>
      {found.again}
    </Link>
  )
  const whose = query.data?.account
  return (
    <Page>
      <PageHeader
        title={query.data === undefined ? id : titleOf(query.data.request)}
        about={
          whose !== undefined && (
            <>
              {found.account}{' '}
              <Link
                to="/operate/accounts/$account"
                params={{ account: whose.id }}
                className="font-medium break-all text-accent hover:underline"
              >
                {whose.email}
              </Link>{' '}
              / <code>{id}</code>
            </>
          )
        }
        actions={
          <>
            <CopyButton text={id} look="button" />
            {again}
          </>
        }
      />
      {isMissing ? (
        <Panel>
          <Empty icon={SearchX} title={found.none} text={found.noneText} action={again} />
        </Panel>
      ) : (
        <QueryView query={query} lines={8}>
          {({ request }) => <RequestDetailView request={request} whose="of-another" />}
        </QueryView>
      )}
    </Page>
  )
}
