import { useNavigate, useSearch } from '@tanstack/react-router'
import { Plus, Users } from 'lucide-react'
import { useState } from 'react'
import { useLetterKey } from '../../lib/useLetterKey.ts'
import { itemsOf } from '../../questions/question.ts'
import { useAccounts } from '../../questions/useAccounts.ts'
import { Button } from '../../ui/Button.tsx'
import { DataTable } from '../../ui/DataTable.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Page } from '../../ui/Page.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { Answer, Panel } from '../../ui/Panel.tsx'
import { ShowMore } from '../../ui/ShowMore.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { AccountSearch } from './AccountSearch.tsx'
import { MakeAccount } from './MakeAccount.tsx'
import { useAccountColumns } from './useAccountColumns.tsx'
import { WishesPanel } from './WishesPanel.tsx'

export function AccountsPage() {
  const { shell, accounts } = useWords()
  const { search = '' } = useSearch({ strict: false }) as { search?: string }
  const navigate = useNavigate()
  const question = useAccounts(search)
  const columns = useAccountColumns()
  const [making, setMaking] = useState(false)
  const make = () => setMaking(true)
  useLetterKey('n', accounts.make, make)
  const find = (next: string) => void navigate({ to: '/operate/accounts', search: { search: next }, replace: true })
  const makeButton = (
    <Button tone="primary" onClick={make}>
      <Plus aria-hidden="true" />
      {accounts.make}
    </Button>
  )
  return (
    <Page>
      <PageHeader title={shell.areas.accounts} about={accounts.about} actions={makeButton} />
      <WishesPanel />
      <Panel padding="flush">
        <AccountSearch value={search} onFind={find} />
        <Answer question={question} lines={6}>
          {(data) => {
            const rows = itemsOf(data)
            if (rows.length > 0) {
              return (
                <DataTable
                  caption={shell.areas.accounts}
                  columns={columns}
                  rows={rows}
                  rowId={({ id }) => id}
                  onOpen={({ id }) => void navigate({ to: '/operate/accounts/$account', params: { account: id } })}
                />
              )
            }
            return search === '' ? (
              <Empty icon={Users} title={accounts.none} text={accounts.noneText} action={makeButton} />
            ) : (
              <Empty
                icon={Users}
                title={accounts.noneFound}
                text={accounts.noneFoundText}
                action={<Button onClick={() => find('')}>{accounts.clearSearch}</Button>}
              />
            )
          }}
        </Answer>
        <ShowMore question={question} />
      </Panel>
      <MakeAccount open={making} onClose={() => setMaking(false)} />
    </Page>
  )
}
