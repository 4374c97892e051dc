import { Ellipsis, KeyRound, SearchX, ShieldOff, UserPlus, UserRoundCheck, UserRoundX } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { AnswerOf } from '../../../../src/contract/console-api.ts'
import { messageFor, useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import { type SecretMutation, useApiMutation, useSecretMutation } from '../../../queries/mutations.ts'
import { Button, IconButton } from '../../../ui/Button.tsx'
import { type Column, DataTable } from '../../../ui/DataTable.tsx'
import { Dialog } from '../../../ui/Dialog.tsx'
import { ConfirmByName, Form, FormEnd, TextField } from '../../../ui/Form.tsx'
import { InvitationLink } from '../../../ui/InvitationLink.tsx'
import { SearchInput } from '../../../ui/inputs.tsx'
import { Badge, Empty, Panel } from '../../../ui/layout.tsx'
import { Menu, MenuItem } from '../../../ui/Menu.tsx'
import { RoleField } from '../../../ui/RoleField.tsx'
import { Time } from '../../../ui/values.tsx'
import type { AccountDetail } from './account-status.tsx'

type Member = AccountDetail['members'][number]
type Opened =
  | { readonly what: 'invite' }
  | { readonly what: 'disable' | 'password' | 'factors'; readonly member: Member }

/** So few need no search. */
const FEW = 10
/** More are found by the search. */
const SHOWN_MAX = 50

export function PeoplePanel({ account }: { account: AccountDetail }) {
  const { accounts } = useMessages()
  const messages = accounts.person
  const [opened, setOpened] = useState<Opened>()
  const close = () => setOpened(undefined)
  const disable = useApiMutation('POST /operate/people/:person/disable', { done: messages.isDisabled, onDone: close })
  const enable = useApiMutation('POST /operate/people/:person/enable', { done: messages.isEnabled })
  const remove = useApiMutation('POST /operate/people/:person/remove-factors', {
    ...{ done: messages.factorsRemoved, onDone: close },
  })
  const columns = useColumns((member) => (
    <PersonMenu
      email={member.email}
      disabled={member.disabled}
      onPassword={() => setOpened({ what: 'password', member })}
      onFactors={() => setOpened({ what: 'factors', member })}
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
  const losing = opened?.what === 'factors' ? opened.member : undefined
  const disabling = opened?.what === 'disable' ? opened.member : undefined
  return (
    <Panel title={accounts.people} actions={account.members.length > 0 && inviteButton} padding="flush">
      {account.members.length === 0 ? (
        <Empty icon={UserPlus} title={messages.none} text={messages.noneText} action={inviteButton} />
      ) : (
        <PeopleTable people={account.members} columns={columns} />
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
      <ConfirmByName
        open={losing !== undefined}
        onClose={close}
        title={messages.factorsTitle}
        text={messages.factorsText}
        name={losing?.email ?? ''}
        action={messages.removeFactors}
        busy={remove.isPending}
        onConfirm={() => losing !== undefined && remove.mutate({ params: { person: losing.id } })}
      />
    </Panel>
  )
}

interface PeopleTableProps {
  readonly people: readonly Member[]
  readonly columns: Column<Member>[]
}

function PeopleTable({ people, columns }: PeopleTableProps) {
  const { accounts, members } = useMessages()
  const formats = useFormats()
  const [text, setText] = useState('')
  const found = people.filter(({ email }) => email.includes(text.trim().toLowerCase()))
  return (
    <>
      {people.length > FEW && (
        <div className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 pb-2">
          <div className="w-full sm:w-72">
            <SearchInput label={members.search} value={text} onText={setText} />
          </div>
          {found.length > SHOWN_MAX && (
            <p className="text-sm text-faint">
              {accounts.person.shownOf(formats.count(SHOWN_MAX), formats.count(found.length))}
            </p>
          )}
        </div>
      )}
      {found.length === 0 ? (
        <Empty icon={SearchX} title={members.notFound} />
      ) : (
        <DataTable
          caption={accounts.people}
          columns={columns}
          rows={found.slice(0, SHOWN_MAX)}
          rowId={({ id }) => id}
        />
      )}
    </>
  )
}

function useColumns(menu: (member: Member) => ReactNode): Column<Member>[] {
  const { accounts, common, members } = useMessages()
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
    { id: 'role', header: members.role, cell: ({ role }) => messageFor(members.roles, role) },
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
  readonly onFactors: () => void
  readonly onDisable: () => void
  readonly onEnable: () => void
}

function PersonMenu({ email, disabled, onPassword, onFactors, onDisable, onEnable }: PersonMenuProps) {
  const { person } = useMessages().accounts
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={person.more(email)} />}>
      {!disabled && (
        <MenuItem icon={KeyRound} onPick={onPassword}>
          {person.newPassword}
        </MenuItem>
      )}
      <MenuItem icon={ShieldOff} onPick={onFactors}>
        {person.removeFactors}
      </MenuItem>
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

interface InviteDialogProps {
  readonly account: string
  /** Someone who has signed up and needs a new password. */
  readonly resets: Pick<Member, 'email' | 'role'> | undefined
  readonly open: boolean
  readonly onClose: () => void
}

type Invited = AnswerOf<'POST /operate/accounts/:account/invite'>

/** Creates an invitation link and shows it once. The link exists only in this state. */
const InviteDialog = (props: InviteDialogProps) => (props.open ? <Inviting {...props} /> : null)

function Inviting(props: InviteDialogProps) {
  const { accounts, members } = useMessages()
  const [invited, setInvited] = useState<Invited>()
  const make = useSecretMutation('POST /operate/accounts/:account/invite', setInvited)
  const title = props.resets === undefined ? accounts.invite.title : accounts.person.newPasswordTitle
  return (
    <Dialog
      title={invited === undefined ? title : members.link}
      open
      onClose={props.onClose}
      closing={invited === undefined && !make.isPending ? 'anyhow' : 'by-button'}
    >
      {invited === undefined ? (
        <InviteForm {...props} make={make} />
      ) : (
        <InvitationLink invited={invited} onClose={props.onClose} />
      )}
    </Dialog>
  )
}

const ROLES = ['owner', 'admin', 'member', 'viewer', 'operator'] as const
type Role = (typeof ROLES)[number]

interface InviteFormProps extends InviteDialogProps {
  readonly make: SecretMutation<'POST /operate/accounts/:account/invite'>
}

function InviteForm({ account, resets, onClose, make }: InviteFormProps) {
  const { accounts, members } = useMessages()
  const { invite, person } = accounts
  const [role, setRole] = useState<Role>('owner')
  const [email, setEmail] = useState('')
  const send = () => {
    const body =
      resets === undefined
        ? { role, ...(email.trim() !== '' && { email: email.trim() }) }
        : { role: resets.role, email: resets.email, resets: true }
    make.mutate({ params: { account }, body })
  }
  return (
    <Form onSend={send}>
      {resets !== undefined ? (
        <p className="break-words text-soft">{person.newPasswordText(resets.email)}</p>
      ) : (
        <>
          <RoleField roles={ROLES} role={role} onPick={setRole} />
          <TextField
            label={accounts.email}
            hint={invite.emailHint}
            optional
            data-autofocus
            type="email"
            maxLength={254}
            value={email}
            onText={setEmail}
          />
        </>
      )}
      <FormEnd mutation={make} go={members.makeLink} onCancel={onClose} />
    </Form>
  )
}
