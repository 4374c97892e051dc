import { Link, useParams } from '@tanstack/react-router'
import { Archive, ArchiveRestore, Gauge, PencilLine, TrendingUp, UsersRound } from 'lucide-react'
import { useState } from 'react'
import { ConsoleProblem } from '../../lib/console-problem.ts'
import { sumMoney } from '../../lib/money.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useApiMutation } from '../../queries/mutations.ts'
import { useMay } from '../../queries/session.ts'
import { type Team, useTeam, useTeamUsage } from '../../queries/teams.ts'
import { Button, buttonClass } from '../../ui/Button.tsx'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Badge, Empty, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Money, Time } from '../../ui/values.tsx'
import { EditCapsDialog, RaiseDialog } from '../cap-forms/cap-dialogs.tsx'
import { CapBars } from '../caps/CapBars.tsx'
import { KeysPanel } from '../caps/KeysPanel.tsx'
import { ArchiveTeamDialog, RenameTeamDialog } from './team-dialogs.tsx'

export function TeamPage() {
  const { shell, teams } = useMessages()
  const { team = '' } = useParams({ strict: false })
  const query = useTeam(team)
  const isMissing = query.error instanceof ConsoleProblem && query.error.code === 'team_not_found'
  if (query.data !== undefined && !isMissing) return <KnownTeam team={query.data} />
  return (
    <Page>
      <PageHeader title={shell.pageTitles.teams} />
      <Panel>
        {isMissing ? (
          <Empty
            icon={UsersRound}
            title={teams.missing}
            action={
              <Link to="/teams" className={buttonClass('primary')}>
                {teams.toTeams}
              </Link>
            }
          />
        ) : (
          <QueryView query={query} lines={8}>
            {() => null}
          </QueryView>
        )}
      </Panel>
    </Page>
  )
}

type Opened = 'caps' | 'raise' | 'rename' | 'archive'

function KnownTeam({ team }: { team: Team }) {
  const { teams } = useMessages()
  const [opened, setOpened] = useState<Opened>()
  const close = () => setOpened(undefined)
  const status = (
    <span className="flex flex-wrap items-center gap-2 text-sm">
      {team.archived_at !== null && <Badge>{teams.archived}</Badge>}
      <span>
        {teams.since} <Time at={team.created_at} as="day" />
      </span>
    </span>
  )
  return (
    <Page>
      <PageHeader title={team.name} about={status} actions={<TeamButtons team={team} onOpen={setOpened} />} />
      <Panel title={teams.budgets} about={teams.budgetsAbout}>
        <CapBars caps={team.spent} as="long" none={teams.noBudgets} />
      </Panel>
      <UsagePanel team={team.id} />
      <KeysPanel of={{ team: team.id }} beside="person" />
      {opened === 'caps' && <TeamCaps team={team} onClose={close} />}
      {opened === 'raise' && <TeamRaise team={team} onClose={close} />}
      {opened === 'rename' && <RenameTeamDialog team={team} onClose={close} />}
      {opened === 'archive' && <ArchiveTeamDialog team={team} onClose={close} />}
    </Page>
  )
}

function TeamButtons({ team, onOpen }: { team: Team; onOpen: (opened: Opened) => void }) {
  const { teams, caps } = useMessages()
  if (!useMay()('admin')) return null
  const isArchived = team.archived_at !== null
  return (
    <>
      <Button onClick={() => onOpen('caps')}>
        <Gauge aria-hidden="true" />
        {caps.edit}
      </Button>
      {team.spent.length > 0 && (
        <Button onClick={() => onOpen('raise')}>
          <TrendingUp aria-hidden="true" />
          {caps.raise}
        </Button>
      )}
      <Button onClick={() => onOpen('rename')}>
        <PencilLine aria-hidden="true" />
        {teams.rename}
      </Button>
      <Button onClick={() => onOpen('archive')}>
        {isArchived ? <ArchiveRestore aria-hidden="true" /> : <Archive aria-hidden="true" />}
        {isArchived ? teams.open : teams.archive}
      </Button>
    </>
  )
}

interface TeamDialogProps {
  readonly team: Team
  readonly onClose: () => void
}

function TeamCaps({ team, onClose }: TeamDialogProps) {
  const { caps } = useMessages()
  const change = useApiMutation('PATCH /teams/:team', { done: caps.changed, problem: 'shown-here', onDone: onClose })
  return (
    <EditCapsDialog
      {...{ title: caps.edit, caps: team.caps, mutation: change, onClose }}
      onSend={(body) => change.mutate({ params: { team: team.id }, body: { caps: body } })}
    />
  )
}

function TeamRaise({ team, onClose }: TeamDialogProps) {
  const { caps } = useMessages()
  const raise = useApiMutation('POST /teams/:team/raise', {
    ...{ done: caps.raisedNow, problem: 'shown-here', onDone: onClose },
  })
  return (
    <RaiseDialog
      {...{ title: caps.raiseTitle(team.name), spent: team.spent, mutation: raise, onClose }}
      onSend={(body) => raise.mutate({ params: { team: team.id }, body })}
    />
  )
}

/** An id that no person has. */
const TOTAL = 'total'

type Row = NonNullable<ReturnType<typeof useTeamUsage>['data']>['table'][number]

/** Who has spent what of the team's budgets. */
function UsagePanel({ team }: { team: string }) {
  const { teams } = useMessages()
  const formats = useFormats()
  const query = useTeamUsage(team, formats.zone)
  const columns: Column<Row>[] = [
    {
      ...{ id: 'person', header: teams.person, narrow: 'title' },
      cell: ({ id, name }) =>
        id === TOTAL ? (
          name
        ) : id === null || id === 'none' ? (
          <span className="text-faint">{id === null ? teams.others : teams.ownerless}</span>
        ) : (
          <Link to="/members/$person" params={{ person: id }} className="hover:text-accent hover:underline">
            {name}
          </Link>
        ),
    },
    { id: 'requests', header: teams.requests, align: 'end', cell: ({ used }) => formats.count(used.requests) },
    {
      ...{ id: 'cost', header: teams.cost, align: 'end' },
      cell: ({ used }) => <Money amount={sumMoney(used.wallet, used.plan)} digits="column" />,
    },
  ]
  return (
    <Panel title={teams.usage} about={teams.usageAbout} padding="flush">
      <QueryView query={query} lines={5}>
        {({ table, total }) =>
          table.length === 0 ? (
            <Empty title={teams.noUsage} />
          ) : (
            <DataTable
              caption={teams.usage}
              columns={columns}
              rows={table}
              rowId={({ id }) => id ?? 'rest'}
              total={{ id: TOTAL, name: teams.total, used: total }}
            />
          )
        }
      </QueryView>
    </Panel>
  )
}
