import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Plus, Search, Users } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import type { AnswerOf } from '../../../../src/contract/console-api.ts'
import { useLetterKey } from '../../../lib/letter-keys.ts'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import { useApiMutation } from '../../../queries/mutations.ts'
import { useAccounts, useFundingRequests } from '../../../queries/operate.ts'
import { itemsOf } from '../../../queries/query.ts'
import { Button, buttonClass } from '../../../ui/Button.tsx'
import { type Column, DataTable } from '../../../ui/DataTable.tsx'
import { Dialog } from '../../../ui/Dialog.tsx'
import { Form, FormEnd, TextField } from '../../../ui/Form.tsx'
import { SearchInput } from '../../../ui/inputs.tsx'
import { Empty, Page, PageHeader, Panel } from '../../../ui/layout.tsx'
import { ProblemNote, QueryView, ShowMore } from '../../../ui/QueryView.tsx'
import { Money, Time } from '../../../ui/values.tsx'
import { type Account, StatusBadge } from './account-status.tsx'

export function AccountsPage() {
  const { shell, accounts } = useMessages()
  const { search = '' } = useSearch({ strict: false }) as { search?: string }
  const navigate = useNavigate()
  const query = useAccounts(search)
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
      <PageHeader title={shell.pageTitles.accounts} about={accounts.about} actions={makeButton} />
      <FundingRequestsPanel />
      <Panel padding="flush">
        <AccountSearch value={search} onFind={find} />
        <QueryView query={query} lines={6}>
          {(data) => {
            const rows = itemsOf(data)
            if (rows.length > 0) {
              return (
                <DataTable
                  caption={shell.pageTitles.accounts}
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
        </QueryView>
        <ShowMore query={query} />
      </Panel>
      <CreateAccountDialog open={making} onClose={() => setMaking(false)} />
    </Page>
  )
}

function useAccountColumns(): Column<Account>[] {
  const { accounts } = useMessages()
  const formats = useFormats()
  return [
    {
      id: 'email',
      header: accounts.email,
      narrow: 'title',
      cell: ({ id, email }) => (
        <Link
          to="/operate/accounts/$account"
          params={{ account: id }}
          className="block max-w-80 min-w-0 xl:max-w-112 truncate font-medium hover:text-accent hover:underline"
          title={`${email}\n${id}`}
        >
          {email}
        </Link>
      ),
    },
    {
      id: 'status',
      header: accounts.status,
      narrow: 'corner',
      cell: ({ status }) => <StatusBadge status={status} />,
    },
    {
      id: 'available',
      header: accounts.available,
      align: 'end',
      cell: ({ wallet }) => <Money amount={wallet.available} digits="column" />,
    },
    {
      id: 'plan',
      header: accounts.plan,
      cell: ({ plan }) => plan ?? <span className="text-faint">{accounts.noPlan}</span>,
    },
    { id: 'keys', header: accounts.keys, align: 'end', cell: ({ keys }) => formats.count(keys) },
    { id: 'people', header: accounts.people, align: 'end', cell: ({ people }) => formats.count(people) },
    {
      id: 'created',
      header: accounts.created,
      align: 'end',
      cell: ({ created_at }) => <Time at={created_at} as="day" />,
    },
  ]
}

/** Debounce of the search. */
const PAUSE_MS = 250

function AccountSearch({ value, onFind }: { value: string; onFind: (search: string) => void }) {
  const { accounts } = useMessages()
  const [typed, setTyped] = useState(value)
  const latest = useRef(onFind)
  useEffect(() => {
    latest.current = onFind
  })
  useEffect(() => setTyped(value), [value])
  useEffect(() => {
    if (typed.trim() === value) return
    const pause = setTimeout(() => latest.current(typed.trim()), PAUSE_MS)
    return () => clearTimeout(pause)
  }, [typed, value])
  return (
    <div className="relative border-b border-line p-3">
      <Search
        aria-hidden="true"
        className="pointer-events-none absolute inset-y-0 start-5.5 my-auto size-4 text-faint"
      />
      <SearchInput label={accounts.search} maxLength={200} className="ps-8.5" value={typed} onText={setTyped} />
    </div>
  )
}

interface CreateAccountDialogProps {
  readonly open: boolean
  readonly onClose: () => void
}

function CreateAccountDialog({ open, onClose }: CreateAccountDialogProps) {
  const { accounts } = useMessages()
  return (
    <Dialog title={accounts.make} open={open} onClose={onClose}>
      <CreateAccountForm onClose={onClose} />
    </Dialog>
  )
}

function CreateAccountForm({ onClose }: { onClose: () => void }) {
  const { accounts } = useMessages()
  const navigate = useNavigate()
  const [email, setEmail] = useState('')
  const make = useApiMutation('POST /operate/accounts', {
    done: accounts.made,
    problem: 'shown-here',
    onDone: ({ id }) => {
      onClose()
      void navigate({ to: '/operate/accounts/$account', params: { account: id } })
    },
  })
  const send = () => {
    make.mutate({ body: { email: email.trim() } })
  }
  return (
    <Form onSend={send}>
      <p className="text-soft">{accounts.makeText}</p>
      <TextField
        label={accounts.email}
        data-autofocus
        type="email"
        required
        maxLength={254}
        value={email}
        onText={setEmail}
      />
      <FormEnd mutation={make} go={accounts.make} onCancel={onClose} />
    </Form>
  )
}

type FundingRequest = AnswerOf<'GET /operate/wishes'>['items'][number]

function FundingRequestsPanel() {
  const { accounts } = useMessages()
  const query = useFundingRequests()
  const columns = useColumns()
  if (query.data === undefined) {
    return query.error === null ? null : <ProblemNote error={query.error} onRetry={() => void query.refetch()} />
  }
  const fundingRequests = itemsOf(query.data)
  if (fundingRequests.length === 0) return null
  return (
    <Panel title={accounts.fundingRequests} about={accounts.fundingRequestsAbout} padding="flush">
      <DataTable
        caption={accounts.fundingRequests}
        columns={columns}
        rows={fundingRequests}
        rowId={({ account }) => account}
      />
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
    {
      id: 'amount',
      header: accounts.fundingRequest.amount,
      align: 'end',
      cell: ({ amount }) => <Money amount={amount} />,
    },
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
