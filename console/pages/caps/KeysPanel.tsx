import { Link } from '@tanstack/react-router'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { itemsOf } from '../../queries/query.ts'
import { useMay } from '../../queries/session.ts'
import { useKeysOf } from '../../queries/teams.ts'
import { buttonClass } from '../../ui/Button.tsx'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Badge, type BadgeTone, Empty, Panel } from '../../ui/layout.tsx'
import { QueryView, ShowMore } from '../../ui/QueryView.tsx'
import { Time } from '../../ui/values.tsx'
import { CapBars } from './CapBars.tsx'

type Query = ReturnType<typeof useKeysOf>
type Key = ReturnType<typeof itemsOf<NonNullable<Query['data']>['pages'][number]['items'][number]>>[number]

const TONES: Readonly<Record<Key['state'], BadgeTone>> = {
  ...{ active: 'good', disabled: 'held', expired: 'bad', revoked: 'plain' },
}

interface KeysPanelProps {
  readonly of: Parameters<typeof useKeysOf>[0]
  /** The other owner of each key. */
  readonly beside: 'person' | 'team'
}

/** The keys of a team or a person, a page at a time. */
export function KeysPanel({ of, beside }: KeysPanelProps) {
  const { keys, caps, teams } = useMessages()
  const query = useKeysOf(of)
  const may = useMay()
  const owner: Column<Key> =
    beside === 'person'
      ? { id: 'person', header: teams.person, cell: ({ person }) => person?.email ?? '' }
      : { id: 'team', header: teams.team, cell: ({ team }) => team?.name ?? '' }
  const columns: Column<Key>[] = [
    {
      ...{ id: 'name', header: keys.name, narrow: 'title' },
      cell: ({ id, name }) => (
        <Link
          to="/keys/$key"
          params={{ key: id }}
          title={name}
          className="block max-w-72 truncate font-medium hover:text-accent hover:underline"
        >
          {name}
        </Link>
      ),
    },
    owner,
    { id: 'state', header: keys.state, cell: ({ state }) => <Badge tone={TONES[state]}>{keys.states[state]}</Badge> },
    { id: 'caps', header: caps.title, cell: (key) => <CapBars caps={key.caps} as="short" none={caps.none} /> },
    {
      ...{ id: 'used', header: keys.lastUsed },
      cell: ({ last_used_at: at }) => (at === null ? keys.neverUsed : <Time at={at} />),
    },
  ]
  return (
    <Panel title={teams.keys} padding="flush">
      <QueryView query={query} lines={5}>
        {() => {
          const rows = itemsOf(query.data)
          return rows.length === 0 ? (
            <Empty
              title={teams.noKeys}
              action={
                may('member') && (
                  <Link to="/keys" search={{ new: 'yes' }} className={buttonClass()}>
                    {keys.create}
                  </Link>
                )
              }
            />
          ) : (
            <DataTable caption={teams.keys} columns={columns} rows={rows} rowId={({ id }) => id} />
          )
        }}
      </QueryView>
      <ShowMore query={query} />
    </Panel>
  )
}
