import { useState } from 'react'
import type { AnswerOf } from '../../../../src/contract/console-api.ts'
import { type SecretMutation, useSecretMutation } from '../../../queries/mutations.ts'
import { Button } from '../../../ui/Button.tsx'
import { CopyButton } from '../../../ui/CopyButton.tsx'
import { choicesOf } from '../../../ui/choices.ts'
import { Dialog, DialogActions } from '../../../ui/Dialog.tsx'
import { TextField } from '../../../ui/Field.tsx'
import { Form, FormEnd } from '../../../ui/Form.tsx'
import { Segmented } from '../../../ui/Segmented.tsx'
import { TimeText } from '../../../ui/Time.tsx'
import { useMessages } from '../../../messages/MessagesProvider.tsx'

interface InviteDialogProps {
  readonly account: string
  /** Somebody who has signed up already and shall choose a new password. */
  readonly resets: { readonly email: string; readonly role: string } | undefined
  readonly open: boolean
  readonly onClose: () => void
}

type Invited = AnswerOf<'POST /operate/accounts/:account/invite'>

/** Makes a link with which somebody becomes a person of this account, and shows it once. It lives in here and nowhere else. */
export const InviteDialog = (props: InviteDialogProps) => (props.open ? <Inviting {...props} /> : null)

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
      <FormEnd act={make} go={person.makeLink} onCancel={onClose} />
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
        <TimeText say={invite.goodUntil} at={invited.expires_at} />
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
