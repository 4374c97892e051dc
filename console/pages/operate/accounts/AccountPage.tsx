import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { HandCoins } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { readMoney } from '../../../lib/money.ts'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import { useAccount } from '../../../queries/operate.ts'
import { Button } from '../../../ui/Button.tsx'
import { CopyButton } from '../../../ui/CopyButton.tsx'
import { Page, PageHeader, Panel, StatTile } from '../../../ui/layout.tsx'
import { ProblemNote, QueryView } from '../../../ui/QueryView.tsx'
import { Money, MoneyText, Time } from '../../../ui/values.tsx'
import { AccountActivity } from './AccountActivity.tsx'
import { type AccountDetail, StatusBadge, StatusButton } from './account-status.tsx'
import { CreditDialog } from './CreditDialog.tsx'
import { PeoplePanel } from './PeoplePanel.tsx'
import { SubscriptionPanel } from './SubscriptionPanel.tsx'

export function AccountPage() {
  const { shell } = useMessages()
  const { account: id = '' } = useParams({ strict: false })
  const query = useAccount(id)
  if (query.data !== undefined) {
    const retry = () => void query.refetch()
    const note = query.error !== null && <ProblemNote error={query.error} onRetry={retry} />
    return <AccountView account={query.data} note={note} />
  }
  return (
    <Page>
      <PageHeader
        title={id}
        about={
          <Link to="/operate/accounts" className="inline-block leading-6 hover:text-ink hover:underline">
            {shell.pageTitles.accounts}
          </Link>
        }
      />
      <Panel>
        <QueryView query={query} lines={6}>
          {() => null}
        </QueryView>
      </Panel>
    </Page>
  )
}

interface AccountViewProps {
  readonly account: AccountDetail
  /** A failed refetch is shown in the same view, because remounting would lose a link that is shown only once. */
  readonly note: ReactNode
}

/** `?credit=25.00` opens the credit dialog from a funding request; `?credit=yes` leaves the amount empty. */
function AccountView({ account, note }: AccountViewProps) {
  const { shell, accounts } = useMessages()
  const { credit } = useSearch({ strict: false }) as { credit?: string }
  const navigate = useNavigate()
  const [crediting, setCrediting] = useState<{ readonly amount: string } | undefined>(
    credit === undefined ? undefined : { amount: readMoney(credit) === undefined ? '' : credit },
  )
  const close = () => {
    setCrediting(undefined)
    if (credit !== undefined) void navigate({ to: '.', search: {}, replace: true })
  }
  const isFundingRequest = crediting !== undefined && crediting.amount === account.asked?.amount
  return (
    <Page>
      <PageHeader
        title={account.email}
        about={
          <span className="flex flex-wrap items-center gap-x-2">
            <Link to="/operate/accounts" className="inline-block leading-6 hover:text-ink hover:underline">
              {shell.pageTitles.accounts}
            </Link>
            <code className="text-xs break-all">{account.id}</code>
            <CopyButton text={account.id} />
            <StatusBadge status={account.status} />
          </span>
        }
        actions={
          <>
            <StatusButton account={account} />
            {account.status !== 'closed' && (
              <Button tone="primary" onClick={() => setCrediting({ amount: '' })}>
                <HandCoins aria-hidden="true" />
                {accounts.credit.open}
              </Button>
            )}
          </>
        }
      />
      {note}
      {account.asked !== null && (
        <FundingRequestNote asked={account.asked} onCredit={(amount) => setCrediting({ amount })} />
      )}
      <Tiles account={account} />
      <SubscriptionPanel account={account} />
      <AccountActivity account={account.id} />
      <PeoplePanel account={account} />
      <CreditDialog
        account={account.id}
        open={crediting !== undefined}
        amount={crediting?.amount ?? ''}
        reason={isFundingRequest ? accounts.credit.fundingRequestReason : ''}
        onClose={close}
      />
    </Page>
  )
}

function Tiles({ account: { wallet, keys, people, created_at } }: { account: AccountDetail }) {
  const { accounts } = useMessages()
  const formats = useFormats()
  return (
    <div className="grid grid-cols-2 gap-3 md:grid-cols-4">
      <StatTile label={accounts.available} value={<Money amount={wallet.available} />} />
      <StatTile
        label={accounts.balance}
        value={<Money amount={wallet.balance} />}
        note={
          <>
            {accounts.held} <Money amount={wallet.held} as="held" />
          </>
        }
      />
      <StatTile label={accounts.keys} value={formats.count(keys)} />
      <StatTile
        label={accounts.people}
        value={formats.count(people)}
        note={
          <>
            {accounts.created} <Time at={created_at} as="day" />
          </>
        }
      />
    </div>
  )
}

interface FundingRequestNoteProps {
  readonly asked: NonNullable<AccountDetail['asked']>
  readonly onCredit: (amount: string) => void
}

function FundingRequestNote({ asked, onCredit }: FundingRequestNoteProps) {
  const { accounts } = useMessages()
  return (
    <div className="flex flex-wrap items-center justify-between gap-3 rounded-xl border border-line bg-held-wash px-4 py-3">
      <div className="min-w-0">
        <p className="font-semibold text-held">
          <MoneyText message={accounts.asks} amounts={[asked.amount]} />
        </p>
        <p className="break-words">{asked.note}</p>
        <p className="text-sm text-soft">
          <Time at={asked.at} />
        </p>
      </div>
      <Button onClick={() => onCredit(asked.amount)}>{accounts.creditThis}</Button>
    </div>
  )
}
