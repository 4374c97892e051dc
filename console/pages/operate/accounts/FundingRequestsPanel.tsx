import { Link } from '@tanstack/react-router'
import type { AnswerOf } from '../../../../src/contract/console-api.ts'
import { useFundingRequests } from '../../../queries/operate.ts'
import { itemsOf } from '../../../queries/query.ts'
import { ShowMore } from '../../../ui/QueryView.tsx'
import { buttonClass } from '../../../ui/Button.tsx'
import { type Column, DataTable } from '../../../ui/DataTable.tsx'
import { Money } from '../../../ui/Money.tsx'
import { Panel } from '../../../ui/Panel.tsx'
import { ProblemNote } from '../../../ui/ProblemNote.tsx'
import { Time } from '../../../ui/Time.tsx'
import { useMessages } from '../../../messages/MessagesProvider.tsx'

type FundingRequest = AnswerOf<'GET /operate/wishes'>['items'][number]

/** Who waits for money. Where nobody does, it takes no room. */
export function FundingRequestsPanel() {
  const { accounts } = useMessages()
  const query = useFundingRequests()
  const columns = useColumns()
  if (query.data === undefined) {
    return query.error === null ? null : (
      <ProblemNote error={query.error} onRetry={() => void query.refetch()} />
    )
  }
  const fundingRequests = itemsOf(query.data)
  if (fundingRequests.length === 0) return null
  return (
    <Panel title={accounts.fundingRequests} about={accounts.fundingRequestsAbout} padding="flush">
      <DataTable caption={accounts.fundingRequests} columns={columns} rows={fundingRequests} rowId={({ account }) => account} />
      <ShowMore query={query} />
    </Panel>
  )
}

function useColumns(): Column<FundingRequest>[] {
  const { accounts } = useMessages()
  return [
    {
      id: 'email',
      header: accounts.email,
      narrow: 'title',
      cell: ({ account, email }) => (
        <Link
          to="/operate/accounts/$account"
          params={{ account }}
          className="block max-w-64 min-w-0 truncate font-medium hover:text-accent hover:underline"
          title={email}
        >
          {email}
        </Link>
      ),
    },
    { id: 'amount', header: accounts.fundingRequest.amount, align: 'end', cell: ({ amount }) => <Money amount={amount} /> },
    {
      id: 'note',
      header: accounts.fundingRequest.note,
      cell: ({ note }) => <span className="line-clamp-2 max-w-96 min-w-40 break-words text-soft">{note}</span>,
    },
    { id: 'at', header: accounts.fundingRequest.at, cell: ({ at }) => <Time at={at} /> },
    {
      id: 'credit',
      header: accounts.creditThis,
      quiet: true,
      align: 'end',
      narrow: 'corner',
      cell: ({ account, amount }) => (
        <Link
          to="/operate/accounts/$account"
          params={{ account }}
          search={{ credit: amount }}
          className={buttonClass('plain')}
        >
          {accounts.creditThis}
        </Link>
      ),
    },
  ]
}
