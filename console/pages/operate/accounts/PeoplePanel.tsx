import { Ellipsis, KeyRound, UserPlus, UserRoundCheck, UserRoundX } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { AnswerOf } from '../../../../src/contract/console-api.ts'
import { messageFor, useMessages } from '../../../messages/MessagesProvider.tsx'
import { type SecretMutation, useApiMutation, useSecretMutation } from '../../../queries/mutations.ts'
import { Button, IconButton } from '../../../ui/Button.tsx'
import { CopyButton } from '../../../ui/CopyButton.tsx'
import { type Column, DataTable } from '../../../ui/DataTable.tsx'
import { Dialog, DialogActions } from '../../../ui/Dialog.tsx'
import { ConfirmByName, Form, FormEnd, TextField } from '../../../ui/Form.tsx'
import { choicesOf, Segmented } from '../../../ui/inputs.tsx'
import { Badge, Empty, Panel } from '../../../ui/layout.tsx'
import { Menu, MenuItem } from '../../../ui/Menu.tsx'
import { Time, TimeText } from '../../../ui/values.tsx'
import type { AccountDetail } from './account-status.tsx'

type Member = AccountDetail['members'][number]
type Opened = { readonly what: 'invite' } | { readonly what: 'disable' | 'password'; readonly member: Member }

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

interface InviteDialogProps {
  readonly account: string
  /** Someone who has signed up and needs a new password. */
  readonly resets: { readonly email: string; readonly role: string } | undefined
  readonly open: boolean
  readonly onClose: () => void
}

type Invited = AnswerOf<'POST /operate/accounts/:account/invite'>

/** Creates an invitation link and shows it once. The link exists only in this state. */
const InviteDialog = (props: InviteDialogProps) => (props.open ? <Inviting {...props} /> : null)

function Inviting(props: InviteDialogProps) {
  const { accounts } = useMessages()
  const [invited, setInvited] = useState<Invited>()
  const make = useSecretMutation('POST /operate/accounts/:account/invite', setInvited)
  const title = props.resets === undefined ? accounts.invite.title : accounts.person.newPasswordTitle
  return (
    <Dialog
      title={invited === undefined ? title : accounts.invite.link}
      open
      onClose={props.onClose}
      closing={invited === undefined && !make.isPending ? 'anyhow' : 'by-button'}
    >
      {invited === undefined ? (
        <InviteForm {...props} make={make} />
      ) : (
        <Made invited={invited} onClose={props.onClose} />
      )}
    </Dialog>
  )
}

const ROLES = ['owner', 'operator'] as const

interface InviteFormProps extends InviteDialogProps {
  readonly make: SecretMutation<'POST /operate/accounts/:account/invite'>
}

function InviteForm({ account, resets, onClose, make }: InviteFormProps) {
  const { accounts } = useMessages()
  const { invite, person } = accounts
  const [role, setRole] = useState<(typeof ROLES)[number]>('owner')
  const [email, setEmail] = useState('')
  const send = () => {
    const body =
      resets === undefined
        ? { role, ...(email.trim() !== '' && { email: email.trim() }) }
        : {
            role: resets.role === 'operator' ? ('operator' as const) : ('owner' as const),
            email: resets.email,
            resets: true,
          }
    make.mutate({ params: { account }, body })
  }
  return (
    <Form onSend={send}>
      {resets !== undefined ? (
        <p className="break-words text-soft">{person.newPasswordText(resets.email)}</p>
      ) : (
        <>
          <div className="grid gap-1">
            <div>
              <Segmented label={person.role} value={role} options={choicesOf(ROLES, person.roles)} onPick={setRole} />
            </div>
            <p className="text-xs text-faint">{invite.roleHint[role]}</p>
          </div>
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
      <FormEnd mutation={make} go={person.makeLink} onCancel={onClose} />
    </Form>
  )
}

function Made({ invited, onClose }: { invited: Invited; onClose: () => void }) {
  const { invite } = useMessages().accounts
  return (
    <div className="grid gap-4">
      <p className="text-soft">{invite.linkText}</p>
      <p className="rounded-lg border border-line bg-sunken p-3 font-mono text-sm break-all select-all">
        {invited.link}
      </p>
      <p className="text-sm text-faint">
        <TimeText message={invite.goodUntil} at={invited.expires_at} />
      </p>
      <DialogActions>
        <CopyButton text={invited.link} label={invite.copy} look="button" />
        <Button tone="primary" onClick={onClose}>
          {invite.done}
        </Button>
      </DialogActions>
    </div>
  )
}
