import { Link } from '@tanstack/react-router'
import { CreditCard } from 'lucide-react'
import { useState } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { useAllPayments } from '../../queries/payments.ts'
import { itemsOf } from '../../queries/query.ts'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Checkbox } from '../../ui/inputs.tsx'
import { Badge, type BadgeTone, Empty, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { QueryView, ShowMore } from '../../ui/QueryView.tsx'
import { Money, Time } from '../../ui/values.tsx'

type Payment = AnswerOf<'GET /operate/payments'>['items'][number]

export function PaymentsPage() {
  const { shell, payments } = useMessages()
  const [isOwed, setIsOwed] = useState(false)
  const query = useAllPayments(isOwed)
  const columns = useColumns()
  return (
    <Page>
      <PageHeader title={shell.pageTitles.payments} about={payments.allAbout} />
      <Checkbox
        label={payments.onlyOwed}
        hint={payments.onlyOwedHint}
        checked={isOwed}
        onChange={(event) => setIsOwed(event.target.checked)}
      />
      <Panel padding="flush">
        <QueryView query={query} lines={6}>
          {(data) => {
            const rows = itemsOf(data)
            return rows.length === 0 ? (
              <Empty icon={CreditCard} title={payments.none} text={payments.noneText} />
            ) : (
              <DataTable caption={shell.pageTitles.payments} columns={columns} rows={rows} rowId={({ id }) => id} />
            )
          }}
        </QueryView>
        <ShowMore query={query} />
      </Panel>
    </Page>
  )
}

const TONES: Readonly<Record<Payment['state'], BadgeTone>> = {
  open: 'held',
  failed: 'bad',
  expired: 'plain',
  paid: 'good',
}

function useColumns(): Column<Payment>[] {
  const { payments } = useMessages()
  return [
    { id: 'when', header: payments.when, cell: ({ created_at }) => <Time at={created_at} as="time" /> },
    {
      id: 'account',
      header: payments.account,
      narrow: 'title',
      cell: ({ account, email }) => (
        <Link
          to="/operate/accounts/$account"
          params={{ account }}
          title={account}
          className="max-w-56 truncate hover:text-accent hover:underline"
        >
          {email}
        </Link>
      ),
    },
    { id: 'what', header: payments.what, cell: ({ kind }) => payments.kinds[kind] },
    {
      id: 'state',
      header: payments.state,
      narrow: 'corner',
      cell: ({ state }) => <Badge tone={TONES[state]}>{payments.states[state]}</Badge>,
    },
    { id: 'amount', header: payments.amount, align: 'end', cell: ({ amount }) => <Money amount={amount} /> },
    {
      id: 'back',
      header: payments.back,
      align: 'end',
      cell: ({ refunded, disputed }) => (
        <span className="grid">
          <Money amount={refunded} />
          {/[1-9]/.test(disputed) && <Money amount={disputed} />}
        </span>
      ),
    },
    { id: 'owed', header: payments.owedColumn, align: 'end', cell: ({ owed }) => <Money amount={owed} /> },
  ]
}
