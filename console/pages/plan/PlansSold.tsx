import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useApiMutation } from '../../queries/mutations.ts'
import { usePlansSold } from '../../queries/payments.ts'
import { useMay } from '../../queries/session.ts'
import { Button } from '../../ui/Button.tsx'
import { Panel } from '../../ui/layout.tsx'
import { TimeText } from '../../ui/values.tsx'

type Sold = AnswerOf<'GET /plans/sold'>

/** Plans that can be bought by card, and those that were. Nothing where none is sold. */
export function PlansSold() {
  const { payments } = useMessages()
  const { data } = usePlansSold()
  const mayPay = useMay()('owner')
  if (data === undefined) return null
  const running = data.bought.filter(({ status, paid_until }) => status !== 'canceled' && paid_until !== null)
  return (
    <>
      {running.length > 0 && (
        <Panel title={payments.bought}>
          {running.map((purchase) => (
            <Bought key={purchase.id} purchase={purchase} mayPay={mayPay} />
          ))}
        </Panel>
      )}
      {running.length === 0 && mayPay && data.items.length > 0 && (
        <Panel title={payments.sold}>
          <div className="grid gap-3">
            {data.items.map((plan) => (
              <ToBuy key={plan.plan} plan={plan} />
            ))}
          </div>
        </Panel>
      )}
    </>
  )
}

function ToBuy({ plan: { plan, windows } }: { plan: Sold['items'][number] }) {
  const { payments } = useMessages()
  const formats = useFormats()
  const buy = useApiMutation('POST /plans/buy', { onDone: ({ url }) => location.assign(url) })
  return (
    <div className="flex flex-wrap items-center justify-between gap-3">
      <span className="grid">
        <span className="font-medium">{plan}</span>
        <span className="text-soft">
          {windows.map(({ name, allowance }) => payments.every(formats.money(allowance), name)).join(', ')}
        </span>
      </span>
      <Button tone="primary" busy={buy.isPending} onClick={() => buy.mutate({ body: { plan } })}>
        {payments.buy}
      </Button>
    </div>
  )
}

function Bought({ purchase, mayPay }: { purchase: Sold['bought'][number]; mayPay: boolean }) {
  const { payments } = useMessages()
  const { id, plan, renews, status, paid_until } = purchase
  const change = useApiMutation('PUT /plans/:purchase/renewal')
  return (
    <div className="flex flex-wrap items-center justify-between gap-3">
      <span className="grid">
        <span className="font-medium">{plan}</span>
        {paid_until !== null && (
          <span className="text-soft">
            <TimeText message={renews ? payments.renews : payments.ends} at={paid_until} as="day" />
          </span>
        )}
        {status === 'past_due' && <span className="text-bad">{payments.pastDue}</span>}
      </span>
      {mayPay && (
        <Button
          busy={change.isPending}
          onClick={() => change.mutate({ params: { purchase: id }, body: { renews: !renews } })}
        >
          {renews ? payments.endRenewal : payments.renewAgain}
        </Button>
      )}
    </div>
  )
}
