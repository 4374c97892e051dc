import { Link, useNavigate } from '@tanstack/react-router'
import { Plus, SearchX, UsersRound } from 'lucide-react'
import { useState } from 'react'
import { isQuota } from '../../lib/cap-kinds.ts'
import { sumMoney } from '../../lib/money.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useApiMutation } from '../../queries/mutations.ts'
import { itemsOf } from '../../queries/query.ts'
import { useMay } from '../../queries/session.ts'
import { type Team, useMonthByTeam, useNewKeyCaps, useTeams } from '../../queries/teams.ts'
import { Button } from '../../ui/Button.tsx'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Checkbox, SearchInput } from '../../ui/inputs.tsx'
import { Badge, Empty, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { QueryView, ShowMore } from '../../ui/QueryView.tsx'
import { Money } from '../../ui/values.tsx'
import { EditCapsDialog } from '../cap-forms/cap-dialogs.tsx'
import { CAP_FIELDS, type SetCaps } from '../cap-forms/cap-draft.ts'
import { CapBars } from '../caps/CapBars.tsx'
import { CreateTeamDialog } from './team-dialogs.tsx'

export function TeamsPage() {
  const { shell, teams } = useMessages()
  const query = useTeams()
  const may = useMay()
  const [creating, setCreating] = useState(false)
  const [text, setText] = useState('')
  const [withArchived, setWithArchived] = useState(false)
  const all = itemsOf(query.data)
  const archived = all.filter(({ archived_at }) => archived_at !== null).length
  const found = all.filter(
    ({ name, archived_at }) =>
      (withArchived || archived_at === null) && name.toLowerCase().includes(text.trim().toLowerCase()),
  )
  const create = may('admin') && (
    <Button tone="primary" onClick={() => setCreating(true)}>
      <Plus aria-hidden="true" />
      {teams.create}
    </Button>
  )
  return (
    <Page>
      <PageHeader title={shell.pageTitles.teams} about={teams.about} actions={create} />
      {all.length > 0 && (
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
          <div className="w-full sm:w-72">
            <SearchInput label={teams.search} value={text} onText={setText} />
          </div>
          {archived > 0 && (
            <Checkbox
              label={teams.showArchived(String(archived))}
              checked={withArchived}
              onChange={(event) => setWithArchived(event.target.checked)}
            />
          )}
        </div>
      )}
      <Panel padding="flush">
        <QueryView query={query} lines={6}>
          {() =>
            all.length === 0 ? (
              <Empty icon={UsersRound} title={teams.none} text={teams.noneText} action={create} />
            ) : found.length === 0 ? (
              <Empty icon={SearchX} title={teams.notFound} />
            ) : (
              <TeamTable teams={found} />
            )
          }
        </QueryView>
        <ShowMore query={query} />
      </Panel>
      <NewKeyCapsPanel />
      {creating && <CreateTeamDialog onClose={() => setCreating(false)} />}
    </Page>
  )
}

function TeamTable({ teams: rows }: { teams: readonly Team[] }) {
  const { shell, teams, caps } = useMessages()
  const formats = useFormats()
  const navigate = useNavigate()
  const month = useMonthByTeam().data
  const spent = new Map(month?.table.map(({ id, used }) => [id, sumMoney(used.wallet, used.plan)]))
  const columns: Column<Team>[] = [
    {
      ...{ id: 'name', header: teams.name, narrow: 'title' },
      cell: ({ id, name, archived_at }) => (
        <span className="flex items-center gap-2">
          <Link
            to="/teams/$team"
            params={{ team: id }}
            title={name}
            className="block max-w-72 truncate font-semibold hover:text-accent hover:underline"
          >
            {name}
          </Link>
          {archived_at !== null && <Badge>{teams.archived}</Badge>}
        </span>
      ),
    },
    {
      ...{ id: 'spent', header: teams.thisMonth, align: 'end' },
      cell: ({ id }) => (month === undefined ? null : <Money amount={spent.get(id) ?? '0.00'} digits="column" />),
    },
    { id: 'keys', header: teams.keys, align: 'end', cell: ({ keys }) => formats.count(keys) },
    { id: 'caps', header: teams.budgets, cell: (team) => <CapBars caps={team.spent} as="pairs" none={caps.none} /> },
  ]
  return (
    <DataTable
      caption={shell.pageTitles.teams}
      columns={columns}
      rows={rows}
      rowId={({ id }) => id}
      onOpen={({ id }) => void navigate({ to: '/teams/$team', params: { team: id } })}
    />
  )
}

/** The caps that keys get when they are created without others. */
function NewKeyCapsPanel() {
  const { teams, caps } = useMessages()
  const query = useNewKeyCaps()
  const may = useMay()
  const [editing, setEditing] = useState(false)
  const change = useApiMutation('PATCH /new-key-caps', {
    ...{ done: caps.changed, problem: 'shown-here', onDone: () => setEditing(false) },
  })
  return (
    <Panel
      title={teams.newKeys}
      about={teams.newKeysAbout}
      actions={may('admin') && <Button onClick={() => setEditing(true)}>{caps.edit}</Button>}
    >
      <QueryView query={query} lines={1}>
        {({ caps: set }) => (
          <>
            <SetCapsList caps={set} />
            {editing && (
              <EditCapsDialog
                {...{ title: teams.newKeys, text: teams.newKeysAbout, caps: set, mutation: change }}
                onSend={(body) => change.mutate({ body })}
                onClose={() => setEditing(false)}
              />
            )}
          </>
        )}
      </QueryView>
    </Panel>
  )
}

function SetCapsList({ caps: set }: { caps: SetCaps }) {
  const { caps } = useMessages()
  const formats = useFormats()
  const names = CAP_FIELDS.filter((name) => set[name] !== undefined)
  if (names.length === 0) return <p className="text-faint">{caps.none}</p>
  return (
    <dl className="flex flex-wrap gap-x-8 gap-y-2">
      {names.map((name) => (
        <div key={name} className="grid">
          <dt className="text-sm text-faint">{caps.names[name]}</dt>
          <dd>{isQuota(name) ? formats.count(Number(set[name])) : <Money amount={String(set[name])} />}</dd>
        </div>
      ))}
    </dl>
  )
}
