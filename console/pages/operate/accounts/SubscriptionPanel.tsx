import { useState } from 'react'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import { useApiMutation } from '../../../queries/mutations.ts'
import { usePlans } from '../../../queries/operate.ts'
import { Button } from '../../../ui/Button.tsx'
import { ConfirmByName, Form } from '../../../ui/Form.tsx'
import { Select } from '../../../ui/inputs.tsx'
import { Panel } from '../../../ui/layout.tsx'
import { Meter, Money, Time } from '../../../ui/values.tsx'
import type { AccountDetail } from './account-status.tsx'

export function SubscriptionPanel({ account }: { account: AccountDetail }) {
  const { accounts } = useMessages()
  const messages = accounts.subscription
  const { state, plan, since, until, windows } = account.subscription
  const about = {
    none: messages.none,
    ended: messages.ended,
    not_configured: messages.notConfigured,
    active: undefined,
  }[state]
  return (
    <Panel title={plan === null ? accounts.plan : `${accounts.plan}: ${plan}`} {...(about !== undefined && { about })}>
      <div className="grid gap-4">
        {state === 'active' && (
          <p className="flex flex-wrap gap-x-4 text-sm text-soft">
            {since !== null && (
              <span>
                {messages.since} <Time at={since} as="day" />
              </span>
            )}
            {until !== null && (
              <span>
                {messages.until} <Time at={until} as="day" />
              </span>
            )}
          </p>
        )}
        {windows.length > 0 && (
          <ul className="grid gap-4 sm:grid-cols-2">
            {windows.map((window) => (
              <WindowBar key={window.name} window={window} />
            ))}
          </ul>
        )}
        {account.status !== 'closed' && <PlanChange account={account} />}
      </div>
    </Panel>
  )
}

function WindowBar({
  window: { name, used, held, limit, left, end },
}: {
  window: AccountDetail['subscription']['windows'][number]
}) {
  const { accounts } = useMessages()
  const title = useFormats().window(name)
  return (
    <li className="grid gap-1.5">
      <div className="flex flex-wrap items-baseline justify-between gap-x-3 text-sm">
        <span className="font-medium">{title}</span>
        <span className="text-soft">
          <Money amount={used} /> / <Money amount={limit} />
        </span>
      </div>
      <Meter label={title} used={used} held={held} limit={limit} left={left} />
      <p className="text-xs text-faint">
        {end === null ? (
          accounts.subscription.opensLater
        ) : (
          <>
            {accounts.subscription.resets} <Time at={end} />
          </>
        )}
      </p>
    </li>
  )
}

function PlanChange({ account }: { account: AccountDetail }) {
  const { accounts } = useMessages()
  const messages = accounts.subscription
  const plans = usePlans()
  const { state, plan } = account.subscription
  const [picked, setPicked] = useState('')
  const [ending, setEnding] = useState(false)
  const assign = useApiMutation('POST /operate/accounts/:account/plan', {
    done: messages.assigned,
    onDone: () => setPicked(''),
  })
  const end = useApiMutation('POST /operate/accounts/:account/plan', {
    done: messages.over,
    onDone: () => setEnding(false),
  })
  const params = { account: account.id }
  const others = plans.data?.items.filter(({ id }) => id !== plan || state !== 'active') ?? []
  return (
    <div className="flex flex-wrap items-center gap-2">
      {plans.data?.items.length === 0 && <p className="text-sm text-faint">{messages.noPlans}</p>}
      {others.length > 0 && (
        <Form
          className="flex min-w-0 flex-wrap gap-2"
          onSend={() => {
            if (picked !== '') assign.mutate({ params, body: { plan: picked } })
          }}
        >
          <Select
            aria-label={messages.choose}
            className="min-w-44"
            value={picked}
            options={[{ value: '', label: messages.chooseNone }, ...others.map(({ id }) => ({ value: id, label: id }))]}
            onPick={setPicked}
          />
          <Button type="submit" disabled={picked === ''} busy={assign.isPending}>
            {state === 'active' ? messages.change : messages.assign}
          </Button>
        </Form>
      )}
      {(state === 'active' || state === 'not_configured') && plan !== null && (
        <Button onClick={() => setEnding(true)}>{messages.end}</Button>
      )}
      <ConfirmByName
        open={ending}
        onClose={() => setEnding(false)}
        title={messages.endTitle}
        text={messages.endText}
        name={plan ?? ''}
        action={messages.end}
        busy={end.isPending}
        onConfirm={() => end.mutate({ params, body: { plan: null } })}
      />
    </div>
  )
}
