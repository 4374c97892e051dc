import { useNavigate, useSearch } from '@tanstack/react-router'
import { useFormats, useMessages } from '../messages/MessagesProvider.tsx'
import { usePayment } from '../queries/payments.ts'
import { Button } from '../ui/Button.tsx'
import { Panel } from '../ui/layout.tsx'

/** `?payment=`: the browser comes back from the page of the provider. */
export function ReturnedNote({ page }: { page: '/wallet' | '/plan' }) {
  const { payment, left } = useSearch({ strict: false })
  return payment === undefined ? null : (
    <Returned key={payment} page={page} payment={payment} hasLeft={left !== undefined} />
  )
}

interface ReturnedProps {
  readonly page: '/wallet' | '/plan'
  readonly payment: string
  readonly hasLeft: boolean
}

function Returned({ page, payment, hasLeft }: ReturnedProps) {
  const { payments, common } = useMessages()
  const formats = useFormats()
  const navigate = useNavigate()
  const { data } = usePayment(payment)
  if (data === undefined) return null
  const { returned } = payments
  const text =
    data.state === 'paid'
      ? returned.paid(formats.money(data.amount))
      : data.state === 'open' && hasLeft
        ? returned.left
        : returned[data.state]
  return (
    <Panel>
      <div role="status" className="flex flex-wrap items-center justify-between gap-3">
        <p>{text}</p>
        <Button onClick={() => void navigate({ to: page, search: {}, replace: true })}>{common.close}</Button>
      </div>
    </Panel>
  )
}
