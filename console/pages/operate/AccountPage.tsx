import { Link, useParams } from '@tanstack/react-router'
import { useAccount } from '../../questions/useAccount.ts'
import { Page } from '../../ui/Page.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { Answer, Panel } from '../../ui/Panel.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { AccountView } from './AccountView.tsx'

export function AccountPage() {
  const { shell } = useWords()
  const { account: id = '' } = useParams({ strict: false })
  const question = useAccount(id)
  if (question.data !== undefined && question.error === null) return <AccountView account={question.data} />
  return (
    <Page>
      <PageHeader
        title={id}
        about={
          <Link to="/operate/accounts" className="inline-block leading-6 hover:text-ink hover:underline">
            {shell.areas.accounts}
          </Link>
        }
      />
      <Panel>
        <Answer question={question} lines={6}>
          {(account) => <AccountView account={account} />}
        </Answer>
      </Panel>
    </Page>
  )
}
