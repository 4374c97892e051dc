import { Ellipsis, KeyRound, UserPlus, UserRoundCheck, UserRoundX } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useApiMutation } from '../../../queries/mutations.ts'
import { Badge } from '../../../ui/Badge.tsx'
import { Button, IconButton } from '../../../ui/Button.tsx'
import { ConfirmByName } from '../../../ui/ConfirmByName.tsx'
import { type Column, DataTable } from '../../../ui/DataTable.tsx'
import { Empty } from '../../../ui/Empty.tsx'
import { Menu, MenuItem } from '../../../ui/Menu.tsx'
import { Panel } from '../../../ui/Panel.tsx'
import { Time } from '../../../ui/Time.tsx'
import { useMessages } from '../../../messages/MessagesProvider.tsx'
import { messageFor } from '../../../messages/message-for.ts'
import type { AccountDetail } from './account-status.tsx'
import { InviteDialog } from './InviteDialog.tsx'

type Member = AccountDetail['members'][number]
type Opened = { readonly what: 'invite' } | { readonly what: 'disable' | 'password'; readonly member: Member }

/** Who signs in for this account. */
export function PeoplePanel({ account }: { account: AccountDetail }) {
  const { accounts } = useMessages()
  const messages = accounts.person
  const [opened, setOpened] = useState<Opened>()
  const close = () => setOpened(undefined)
  const disable = useApiMutation('POST /operate/people/:person/disable', { done: messages.isDisabled, onDone: close })
  const enable = useApiMutation('POST /operate/people/:person/enable', { done: messages.isEnabled })
  const columns = useColumns((member) => (
    <PersonMenu
      email={member.email}
      disabled={member.disabled}
      onPassword={() => setOpened({ what: 'password', member })}
      onDisable={() => setOpened({ what: 'disable', member })}
      onEnable={() => enable.mutate({ params: { person: member.id } })}
    />
  ))
  const inviteButton = (
    <Button onClick={() => setOpened({ what: 'invite' })}>
      <UserPlus aria-hidden="true" />
      {accounts.invite.open}
    </Button>
  )
  const disabling = opened?.what === 'disable' ? opened.member : undefined
  return (
    <Panel title={accounts.people} actions={account.members.length > 0 && inviteButton} padding="flush">
      {account.members.length === 0 ? (
        <Empty icon={UserPlus} title={messages.none} text={messages.noneText} action={inviteButton} />
      ) : (
        <DataTable caption={accounts.people} columns={columns} rows={account.members} rowId={({ id }) => id} />
      )}
      <InviteDialog
        account={account.id}
        resets={opened?.what === 'password' ? opened.member : undefined}
        open={opened?.what === 'invite' || opened?.what === 'password'}
        onClose={close}
      />
      <ConfirmByName
        open={disabling !== undefined}
        onClose={close}
        title={messages.disableTitle}
        text={messages.disableText}
        name={disabling?.email ?? ''}
        action={messages.disable}
        busy={disable.isPending}
        onConfirm={() => disabling !== undefined && disable.mutate({ params: { person: disabling.id } })}
      />
    </Panel>
  )
}

function useColumns(menu: (member: Member) => ReactNode): Column<Member>[] {
  const { accounts, common } = useMessages()
  const messages = accounts.person
  return [
    {
      id: 'email',
      header: accounts.email,
      narrow: 'title',
      cell: ({ email }) => (
        <span title={email} className="block max-w-96 truncate font-medium">
          {email}
        </span>
      ),
    },
    { id: 'role', header: messages.role, cell: ({ role }) => messageFor(messages.roles, role) },
    {
      id: 'state',
      header: messages.state,
      cell: ({ disabled }) => (
        <Badge tone={disabled ? 'bad' : 'good'}>{disabled ? messages.disabled : messages.active}</Badge>
      ),
    },
    { id: 'created', header: accounts.created, cell: ({ created_at }) => <Time at={created_at} as="day" /> },
    { id: 'menu', header: common.actions, quiet: true, align: 'end', narrow: 'corner', cell: menu },
  ]
}

interface PersonMenuProps {
  readonly email: string
  readonly disabled: boolean
  readonly onPassword: () => void
  readonly onDisable: () => void
  readonly onEnable: () => void
}

function PersonMenu({ email, disabled, onPassword, onDisable, onEnable }: PersonMenuProps) {
  const { person } = useMessages().accounts
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={person.more(email)} />}>
      {!disabled && (
        <MenuItem icon={KeyRound} onPick={onPassword}>
          {person.newPassword}
        </MenuItem>
      )}
      {disabled ? (
        <MenuItem icon={UserRoundCheck} onPick={onEnable}>
          {person.enable}
        </MenuItem>
      ) : (
        <MenuItem icon={UserRoundX} tone="danger" onPick={onDisable}>
          {person.disable}
        </MenuItem>
      )}
    </Menu>
  )
}
