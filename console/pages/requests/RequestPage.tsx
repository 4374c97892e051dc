import { Link, useParams } from '@tanstack/react-router'
import { MessagesSquare } from 'lucide-react'
import { useRequest } from '../../questions/requests.ts'
import { Answer } from '../../ui/Answer.tsx'
import { buttonClass } from '../../ui/Button.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { Page, PageHeader } from '../../ui/Page.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { RequestDetailView } from './RequestDetailView.tsx'

/** One request; it follows it for as long as it runs. */
export function RequestPage() {
  const { shell, requests } = useWords()
  const { request: id = '' } = useParams({ strict: false })
  const question = useRequest(id)
  return (
    <Page>
      <PageHeader
        title={id}
        about={
          <Link to="/requests" className="hover:text-ink hover:underline">
            {shell.areas.requests}
          </Link>
        }
        actions={
          <>
            <CopyButton text={id} label={requests.detail.copyId} look="button" />
            {question.data !== undefined && (
              <Link to="/playground" search={{ model: question.data.model }} className={buttonClass('primary')}>
                <MessagesSquare aria-hidden="true" />
                {requests.detail.openModel}
              </Link>
            )}
          </>
        }
      />
      <Answer question={question} lines={8}>
        {(request) => <RequestDetailView request={request} />}
      </Answer>
    </Page>
  )
}
