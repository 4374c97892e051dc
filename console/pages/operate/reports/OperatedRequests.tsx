import { Link, useNavigate } from '@tanstack/react-router'
import { messageFor, useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import type { OperatedRequest } from '../../../queries/reports.ts'
import { type Column, DataTable, Paired } from '../../../ui/DataTable.tsx'
import { Badge } from '../../../ui/layout.tsx'
import { Money, Time } from '../../../ui/values.tsx'

interface OperatedRequestsProps {
  readonly caption: string
  readonly rows: readonly OperatedRequest[]
  /** On the page of an account, its column is left out. */
  readonly of?: 'one' | 'all'
}

export function OperatedRequests({ caption, rows, of = 'all' }: OperatedRequestsProps) {
  const navigate = useNavigate()
  const columns = useColumns()
  return (
    <DataTable
      caption={caption}
      columns={columns.filter(({ id }) => of === 'all' || id !== 'account')}
      rows={rows}
      rowId={({ id }) => id}
      onOpen={({ id }) => void navigate({ to: '/operate/requests/$request', params: { request: id } })}
    />
  )
}

const SHOWN_OF_ID = 8

function useColumns(): Column<OperatedRequest>[] {
  const { reports, requests } = useMessages()
  const { all, none } = reports
  const formats = useFormats()
  const time = (ms: number | null) => (ms === null ? none : formats.duration(ms))
  return [
    {
      ...{ id: 'request', header: all.request, narrow: 'title' },
      cell: ({ id, opened_at }) => (
        <Paired
          first={
            <Link
              to="/operate/requests/$request"
              params={{ request: id }}
              title={id}
              className="hover:text-accent hover:underline"
            >
              <code>{`…${id.slice(-SHOWN_OF_ID)}`}</code>
            </Link>
          }
          second={<Time at={opened_at} />}
        />
      ),
    },
    {
      ...{ id: 'account', header: all.owner },
      cell: ({ account, key }) => (
        <div className="max-w-32 max-md:ms-auto" title={`${account.email}\n${key.name}`}>
          <Paired
            first={
              <Link
                to="/operate/accounts/$account"
                params={{ account: account.id }}
                className="hover:text-accent hover:underline"
              >
                {account.email}
              </Link>
            }
            second={key.name}
          />
        </div>
      ),
    },
    {
      ...{ id: 'model', header: all.model },
      cell: ({ model, lane, lanes_called }) => (
        <div className="max-w-36 max-md:ms-auto" title={[model, lane].filter(Boolean).join('\n')}>
          <Paired
            first={model}
            second={lanes_called > 1 ? formats.plural(lanes_called, all.lanes) : (lane ?? requests.noLaneEver)}
            secondFrom={lanes_called > 1 || lane === null ? 0 : 1536}
          />
        </div>
      ),
    },
    {
      ...{ id: 'state', header: all.status, narrow: 'corner' },
      cell: ({ outcome }) => <Outcome outcome={outcome} />,
    },
    {
      ...{ id: 'tokens', header: all.tokens, align: 'end' },
      cell: ({ input, output }) => (input === null || output === null ? none : <InOut input={input} output={output} />),
    },
    {
      ...{ id: 'time', header: all.time, align: 'end' },
      cell: ({ first_byte_ms, total_ms }) => (
        <Paired first={time(total_ms)} second={time(first_byte_ms)} secondFrom={1536} />
      ),
    },
    {
      ...{ id: 'charge', header: all.charged, align: 'end' },
      cell: ({ charge, cost }) => (
        <Paired
          first={charge === null ? none : <Money amount={charge} digits="column" />}
          second={cost === null ? none : <Money amount={cost} digits="column" />}
          secondFrom={1440}
        />
      ),
    },
  ]
}

function InOut({ input, output }: { input: number; output: number }) {
  const { all } = useMessages().reports
  const formats = useFormats()
  return <span className="whitespace-nowrap">{all.inOut(formats.short(input), formats.short(output))}</span>
}

function Outcome({ outcome }: Pick<OperatedRequest, 'outcome'>) {
  const { reports, requests } = useMessages()
  if (outcome === null) return <Badge tone="accent">{reports.all.running}</Badge>
  return (
    <Badge tone={outcome === 'completed' ? 'good' : outcome === 'client_gone' ? 'held' : 'bad'}>
      {messageFor(requests.outcomes, outcome)}
    </Badge>
  )
}
