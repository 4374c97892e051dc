import { useState } from 'react'
import type { AnswerOf } from '../../../../src/contract/console-api.ts'
import { useMessages } from '../../../messages/MessagesProvider.tsx'
import { useApiMutation } from '../../../queries/mutations.ts'
import { Button } from '../../../ui/Button.tsx'
import { ConfirmByName } from '../../../ui/Form.tsx'
import { Badge, type BadgeTone } from '../../../ui/layout.tsx'

export type Account = AnswerOf<'GET /operate/accounts'>['items'][number]
export type AccountDetail = AnswerOf<'GET /operate/accounts/:account'>

const TONES: Readonly<Record<Account['status'], BadgeTone>> = { active: 'good', suspended: 'bad', closed: 'plain' }

export function StatusBadge({ status }: { status: Account['status'] }) {
  const { accounts } = useMessages()
  return <Badge tone={TONES[status]}>{accounts.states[status]}</Badge>
}

export function StatusButton({ account }: { account: AccountDetail }) {
  const { accounts } = useMessages()
  const [open, setOpen] = useState(false)
  const isActive = account.status === 'active'
  const change = useApiMutation('POST /operate/accounts/:account/status', {
    done: isActive ? accounts.suspended : accounts.activated,
    onDone: () => setOpen(false),
  })
  if (account.status === 'closed') return null
  return (
    <>
      <Button onClick={() => setOpen(true)}>{isActive ? accounts.suspend : accounts.activate}</Button>
      <ConfirmByName
        open={open}
        onClose={() => setOpen(false)}
        title={isActive ? accounts.suspendTitle : accounts.activateTitle}
        text={isActive ? accounts.suspendText : accounts.activateText}
        name={account.email}
        action={isActive ? accounts.suspend : accounts.activate}
        busy={change.isPending}
        onConfirm={() =>
          change.mutate({ params: { account: account.id }, body: { status: isActive ? 'suspended' : 'active' } })
        }
      />
    </>
  )
}
