import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { HandCoins } from 'lucide-react'
import { useState } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { Button } from '../../ui/Button.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { Money } from '../../ui/Money.tsx'
import { Page } from '../../ui/Page.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { StatTile } from '../../ui/StatTile.tsx'
import { Time } from '../../ui/Time.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import { CreditDialog } from './CreditDialog.tsx'
import { PeoplePanel } from './PeoplePanel.tsx'
import { StatusBadge } from './StatusBadge.tsx'
import { StatusButton } from './StatusButton.tsx'
import { SubscriptionPanel } from './SubscriptionPanel.tsx'
import { WishNote } from './WishNote.tsx'

export type AccountDetail = AnswerOf<'GET /operate/accounts/:account'>

/** One account: its money, its plan, its people. `?credit=25.00` opens the dialog for that, from a wish. */
export function AccountView({ account }: { account: AccountDetail }) {
  const { shell, accounts } = useWords()
  const { credit } = useSearch({ strict: false }) as { credit?: string }
  const navigate = useNavigate()
  const [crediting, setCrediting] = useState<{ readonly amount: string } | undefined>(
    credit === undefined ? undefined : { amount: credit },
  )
  const close = () => {
    setCrediting(undefined)
    if (credit !== undefined) void navigate({ to: '.', search: {}, replace: true })
  }
  const isWish = crediting !== undefined && crediting.amount === account.asked?.amount
  return (
    <Page>
      <PageHeader
        title={account.email}
        about={
          <span className="flex flex-wrap items-center gap-x-2">
            <Link to="/operate/accounts" className="inline-block leading-6 hover:text-ink hover:underline">
              {shell.areas.accounts}
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
      {account.asked !== null && <WishNote asked={account.asked} onCredit={(amount) => setCrediting({ amount })} />}
      <Tiles account={account} />
      <SubscriptionPanel account={account} />
      <PeoplePanel account={account} />
      <CreditDialog
        account={account.id}
        open={crediting !== undefined}
        amount={crediting?.amount ?? ''}
        reason={isWish ? accounts.credit.wishReason : ''}
        onClose={close}
      />
    </Page>
  )
}

function Tiles({ account: { wallet, keys, people, created_at } }: { account: AccountDetail }) {
  const { accounts } = useWords()
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
