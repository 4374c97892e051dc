import { Link, useNavigate } from '@tanstack/react-router'
import { Ellipsis, SearchX, UserPlus, UserRoundCog, UserRoundX } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { type Member, useFactorRule, useMembers } from '../../queries/account.ts'
import { useApiMutation } from '../../queries/mutations.ts'
import { itemsOf, useAllPages } from '../../queries/query.ts'
import { useMay, useSession } from '../../queries/session.ts'
import { Button, IconButton } from '../../ui/Button.tsx'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { SearchInput, Switch } from '../../ui/inputs.tsx'
import { Badge, Empty, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { Menu, MenuItem } from '../../ui/Menu.tsx'
import { QueryView, ShowMore } from '../../ui/QueryView.tsx'
import { Time } from '../../ui/values.tsx'
import { InviteDialog, RemoveDialog, RoleDialog } from './member-dialogs.tsx'

/** So few need no search. */
const FEW = 10

type Opened = { readonly what: 'invite' } | { readonly what: 'role' | 'remove'; readonly member: Member }

export function MembersPage() {
  const { shell, members } = useMessages()
  const query = useMembers()
  const may = useMay()
  const navigate = useNavigate()
  const [text, setText] = useState('')
  const [opened, setOpened] = useState<Opened>()
  const close = () => setOpened(undefined)
  const found = itemsOf(query.data).filter(({ email }) => email.includes(text.trim().toLowerCase()))
  useAllPages(query, text.trim() !== '')
  const columns = useColumns((member) => (
    <MemberMenu
      member={member}
      onRole={() => setOpened({ what: 'role', member })}
      onRemove={() => setOpened({ what: 'remove', member })}
    />
  ))
  const invite = may('admin') && (
    <Button tone="primary" onClick={() => setOpened({ what: 'invite' })}>
      <UserPlus aria-hidden="true" />
      {members.open}
    </Button>
  )
  return (
    <Page>
      <PageHeader title={shell.pageTitles.members} about={members.about} actions={invite} />
      {itemsOf(query.data).length > FEW && (
        <div className="w-full sm:w-72">
          <SearchInput label={members.search} value={text} onText={setText} />
        </div>
      )}
      <Panel padding="flush">
        <QueryView query={query} lines={4}>
          {() =>
            found.length === 0 ? (
              <Empty
                icon={SearchX}
                title={members.notFound}
                action={<Button onClick={() => setText('')}>{members.clear}</Button>}
              />
            ) : (
              <DataTable
                caption={shell.pageTitles.members}
                columns={columns}
                rows={found}
                rowId={({ id }) => id}
                onOpen={({ id }) => void navigate({ to: '/members/$person', params: { person: id } })}
              />
            )
          }
        </QueryView>
        <ShowMore query={query} />
      </Panel>
      {may('admin') && <FactorRulePanel />}
      {opened?.what === 'invite' && <InviteDialog onClose={close} />}
      {opened?.what === 'role' && <RoleDialog member={opened.member} onClose={close} />}
      <RemoveDialog member={opened?.what === 'remove' ? opened.member : undefined} onClose={close} />
    </Page>
  )
}

function FactorRulePanel() {
  const { secondStep } = useMessages().members
  const formats = useFormats()
  const query = useFactorRule()
  const change = useApiMutation('PUT /second-factor', { done: secondStep.saved })
  return (
    <Panel title={secondStep.title} about={secondStep.about}>
      <QueryView query={query} lines={1}>
        {({ required, required_by_server, people_without }) => (
          <Switch
            label={secondStep.require}
            hint={required_by_server ? secondStep.byServer : secondStep.without(formats.count(people_without))}
            on={required || required_by_server}
            disabled={required_by_server || change.isPending}
            onChange={(on) => change.mutate({ body: { required: on } })}
          />
        )}
      </QueryView>
    </Panel>
  )
}

function useColumns(menu: (member: Member) => ReactNode): Column<Member>[] {
  const { members, common } = useMessages()
  const { person } = useSession()
  const may = useMay()
  const formats = useFormats()
  const columns: Column<Member>[] = [
    {
      id: 'email',
      header: members.email,
      narrow: 'title',
      cell: ({ id, email }) => (
        <span className="flex items-center gap-2">
          <Link
            to="/members/$person"
            params={{ person: id }}
            title={email}
            className="block max-w-96 truncate font-medium hover:text-accent hover:underline"
          >
            {email}
          </Link>
          {id === person.id && <Badge>{members.you}</Badge>}
        </span>
      ),
    },
    { id: 'role', header: members.role, cell: ({ role }) => members.roles[role] },
    {
      id: 'state',
      header: members.state,
      cell: ({ state }) => <Badge tone={state === 'active' ? 'good' : 'bad'}>{members.states[state]}</Badge>,
    },
    { id: 'keys', header: members.keys, align: 'end', cell: ({ keys }) => formats.count(keys) },
    { id: 'since', header: members.since, cell: ({ created_at }) => <Time at={created_at} as="day" /> },
  ]
  if (!may('admin')) return columns
  return [...columns, { id: 'menu', header: common.actions, quiet: true, align: 'end', narrow: 'corner', cell: menu }]
}

interface MemberMenuProps {
  readonly member: Member
  readonly onRole: () => void
  readonly onRemove: () => void
}

/** Only owners change owners, only operators change operators, and people change themselves elsewhere. */
function MemberMenu({ member: { id, email, role, state }, onRole, onRemove }: MemberMenuProps) {
  const { members } = useMessages()
  const { person } = useSession()
  const may = useMay()
  const isOutOfReach = role === 'operator' || (role === 'owner' && !may('owner'))
  if (state === 'disabled' || id === person.id || isOutOfReach) return null
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={members.more(email)} />}>
      <MenuItem icon={UserRoundCog} onPick={onRole}>
        {members.change}
      </MenuItem>
      <MenuItem icon={UserRoundX} tone="danger" onPick={onRemove}>
        {members.remove}
      </MenuItem>
    </Menu>
  )
}
