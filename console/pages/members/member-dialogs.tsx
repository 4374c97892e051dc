import { useState } from 'react'
import type { AnswerOf, BodyOf } from '../../../src/contract/console-api.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import type { Member } from '../../queries/account.ts'
import { useApiMutation, useSecretMutation } from '../../queries/mutations.ts'
import { useMay } from '../../queries/session.ts'
import { Dialog } from '../../ui/Dialog.tsx'
import { ConfirmByName, Form, FormEnd, TextField } from '../../ui/Form.tsx'
import { InvitationLink } from '../../ui/InvitationLink.tsx'
import { RoleField } from '../../ui/RoleField.tsx'

type Role = BodyOf<'PATCH /members/:person'>['role']

/** The roles that the signed-in person may give. */
const useRoles = (): readonly Role[] =>
  useMay()('owner') ? ['member', 'viewer', 'admin', 'owner'] : ['member', 'viewer', 'admin']

/** Creates an invitation link and shows it once. The link exists only in this state. */
export function InviteDialog({ onClose }: { onClose: () => void }) {
  const { members } = useMessages()
  const [invited, setInvited] = useState<AnswerOf<'POST /members/invite'>>()
  const make = useSecretMutation('POST /members/invite', setInvited)
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('member')
  const roles = useRoles()
  return (
    <Dialog
      title={invited === undefined ? members.inviteTitle : members.link}
      open
      onClose={onClose}
      closing={invited === undefined && !make.isPending ? 'anyhow' : 'by-button'}
    >
      {invited === undefined ? (
        <Form onSend={() => make.mutate({ body: { email: email.trim(), role } })}>
          <TextField
            label={members.email}
            data-autofocus
            required
            type="email"
            maxLength={254}
            value={email}
            onText={setEmail}
          />
          <RoleField roles={roles} role={role} onPick={setRole} />
          <FormEnd mutation={make} go={members.makeLink} onCancel={onClose} />
        </Form>
      ) : (
        <InvitationLink invited={invited} onClose={onClose} />
      )}
    </Dialog>
  )
}

interface MemberDialogProps {
  readonly member: Member
  readonly onClose: () => void
}

export function RoleDialog({ member, onClose }: MemberDialogProps) {
  const { members } = useMessages()
  const [role, setRole] = useState<Role>(member.role === 'operator' ? 'owner' : member.role)
  const roles = useRoles()
  const change = useApiMutation('PATCH /members/:person', {
    done: members.changed,
    problem: 'shown-here',
    onDone: onClose,
  })
  return (
    <Dialog title={members.changeTitle(member.email)} open onClose={onClose}>
      <Form onSend={() => change.mutate({ params: { person: member.id }, body: { role } })}>
        <RoleField roles={roles} role={role} onPick={setRole} />
        <FormEnd mutation={change} go={members.save} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

export function RemoveDialog({ member, onClose }: { member: Member | undefined; onClose: () => void }) {
  const { members } = useMessages()
  const remove = useApiMutation('POST /members/:person/remove', { done: members.removed, onDone: onClose })
  return (
    <ConfirmByName
      open={member !== undefined}
      onClose={onClose}
      title={members.removeTitle}
      text={members.removeText}
      name={member?.email ?? ''}
      action={members.remove}
      busy={remove.isPending}
      onConfirm={() => member !== undefined && remove.mutate({ params: { person: member.id } })}
    />
  )
}
