import { Link, useParams } from '@tanstack/react-router'
import { Gauge, TrendingUp, UserRound } from 'lucide-react'
import { useState } from 'react'
import { ConsoleProblem } from '../../lib/console-problem.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { useApiMutation } from '../../queries/mutations.ts'
import { useMay, useSession } from '../../queries/session.ts'
import { type CappedMember, useMember } from '../../queries/teams.ts'
import { Button, buttonClass } from '../../ui/Button.tsx'
import { Badge, Empty, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { EditCapsDialog, RaiseDialog } from '../cap-forms/cap-dialogs.tsx'
import { CapBars } from '../caps/CapBars.tsx'
import { KeysPanel } from '../caps/KeysPanel.tsx'

/** A person of the account: their caps across all of their keys, and the keys. */
export function MemberPage() {
  const { shell, teams } = useMessages()
  const { person = '' } = useParams({ strict: false })
  const query = useMember(person)
  const isMissing = query.error instanceof ConsoleProblem && query.error.code === 'person_not_found'
  if (query.data !== undefined && !isMissing) return <KnownMember member={query.data} />
  return (
    <Page>
      <PageHeader title={shell.pageTitles.members} />
      <Panel>
        {isMissing ? (
          <Empty
            icon={UserRound}
            title={teams.personMissing}
            action={
              <Link to="/members" className={buttonClass('primary')}>
                {teams.toMembers}
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

function KnownMember({ member }: { member: CappedMember }) {
  const { members, teams, caps } = useMessages()
  const [opened, setOpened] = useState<'caps' | 'raise'>()
  const mayChange = useMayCap(member)
  const close = () => setOpened(undefined)
  const buttons = mayChange && (
    <>
      <Button onClick={() => setOpened('caps')}>
        <Gauge aria-hidden="true" />
        {caps.edit}
      </Button>
      {member.spent.length > 0 && (
        <Button onClick={() => setOpened('raise')}>
          <TrendingUp aria-hidden="true" />
          {caps.raise}
        </Button>
      )}
    </>
  )
  const status = (
    <span className="flex flex-wrap items-center gap-2 pt-1 text-sm">
      <Badge tone={member.state === 'active' ? 'good' : 'bad'}>{members.states[member.state]}</Badge>
      <span>{members.roles[member.role]}</span>
    </span>
  )
  return (
    <Page>
      <PageHeader title={member.email} about={status} actions={buttons} />
      <Panel title={teams.personCaps} about={teams.personCapsAbout}>
        <CapBars caps={member.spent} as="long" none={teams.noPersonCaps} />
      </Panel>
      <KeysPanel of={{ person: member.id }} beside="team" />
      {opened === 'caps' && <MemberCaps member={member} onClose={close} />}
      {opened === 'raise' && <MemberRaise member={member} onClose={close} />}
    </Page>
  )
}

/** Owners are the business of owners, and operators of operators. */
function useMayCap({ id, role }: CappedMember): boolean {
  const may = useMay()
  const { person } = useSession()
  if (role === 'operator') return id === person.id
  return may(role === 'owner' ? 'owner' : 'admin')
}

interface MemberDialogProps {
  readonly member: CappedMember
  readonly onClose: () => void
}

function MemberCaps({ member, onClose }: MemberDialogProps) {
  const { caps } = useMessages()
  const change = useApiMutation('PATCH /members/:person/caps', {
    ...{ done: caps.changed, problem: 'shown-here', onDone: onClose },
  })
  return (
    <EditCapsDialog
      {...{ title: caps.edit, caps: member.caps, mutation: change, onClose }}
      onSend={(body) => change.mutate({ params: { person: member.id }, body })}
    />
  )
}

function MemberRaise({ member, onClose }: MemberDialogProps) {
  const { caps } = useMessages()
  const raise = useApiMutation('POST /members/:person/raise', {
    ...{ done: caps.raisedNow, problem: 'shown-here', onDone: onClose },
  })
  return (
    <RaiseDialog
      {...{ title: caps.raiseTitle(member.email), spent: member.spent, mutation: raise, onClose }}
      onSend={(body) => raise.mutate({ params: { person: member.id }, body })}
    />
  )
}
