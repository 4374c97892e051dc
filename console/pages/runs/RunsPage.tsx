import { Link, useNavigate } from '@tanstack/react-router'
import { Workflow } from 'lucide-react'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { itemsOf } from '../../queries/query.ts'
import { type RunItem, useRuns } from '../../queries/runs.ts'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Badge, Empty, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { QueryView, ShowMore } from '../../ui/QueryView.tsx'
import { Money, Time } from '../../ui/values.tsx'

/** The runs of the account, the newest first. A member sees those that their keys began. */
export function RunsPage() {
  const { shell, runs } = useMessages()
  const query = useRuns()
  const navigate = useNavigate()
  const columns = useRunColumns()
  return (
    <Page>
      <PageHeader
        title={runs.title}
        about={
          <>
            <Link to="/requests" className="hover:text-ink hover:underline">
              {shell.pageTitles.requests}
            </Link>{' '}
            / {runs.about}
          </>
        }
      />
      <Panel padding="flush">
        <QueryView query={query} lines={6}>
          {(data) => {
            const rows = itemsOf(data)
            return rows.length === 0 ? (
              <Empty icon={Workflow} title={runs.none} text={runs.noneText} />
            ) : (
              <DataTable
                caption={runs.title}
                columns={columns}
                rows={rows}
                rowId={({ id }) => id}
                onOpen={({ id }) => void navigate({ to: '/runs/$run', params: { run: id } })}
              />
            )
          }}
        </QueryView>
        <ShowMore query={query} />
      </Panel>
    </Page>
  )
}

function useRunColumns(): Column<RunItem>[] {
  const { runs } = useMessages()
  const { columns, states } = runs
  return [
    {
      ...{ id: 'run', header: columns.run, narrow: 'title' },
      cell: ({ id, parent }) => (
        <span className="grid">
          <Link
            to="/runs/$run"
            params={{ run: id }}
            title={id}
            className="block max-w-72 truncate font-semibold hover:text-accent hover:underline"
          >
            {id}
          </Link>
          {parent !== null && <span className="truncate text-xs text-faint">{runs.inside(parent)}</span>}
        </span>
      ),
    },
    {
      ...{ id: 'state', header: columns.state, narrow: 'corner' },
      cell: ({ state }) => <Badge tone={state === 'open' ? 'good' : 'plain'}>{states[state]}</Badge>,
    },
    { id: 'opened', header: columns.opened, cell: ({ opened_at }) => <Time at={opened_at} /> },
    {
      ...{ id: 'budget', header: columns.budget, align: 'end' },
      cell: ({ budget }) => <Bounds bounds={budget} none={runs.unlimited} />,
    },
    {
      ...{ id: 'left', header: columns.left, align: 'end' },
      cell: ({ remaining }) => <Bounds bounds={remaining} none="–" />,
    },
  ]
}

function Bounds({ bounds: { cost, requests, tokens }, none }: { bounds: RunItem['budget']; none: string }) {
  const { runs } = useMessages()
  const formats = useFormats()
  if (cost === null && requests === null && tokens === null) return <span className="text-faint">{none}</span>
  return (
    <span className="inline-grid justify-items-end">
      {cost !== null && <Money amount={cost} digits="column" />}
      {requests !== null && <span className="text-xs text-soft">{formats.plural(requests, runs.requestCount)}</span>}
      {tokens !== null && <span className="text-xs text-soft">{runs.tokenCount(formats.short(tokens))}</span>}
    </span>
  )
}
