import { CreditCard } from 'lucide-react'
import { useState } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { readMoney } from '../../lib/money.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useApiMutation } from '../../queries/mutations.ts'
import { usePayments } from '../../queries/payments.ts'
import { itemsOf } from '../../queries/query.ts'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { Form, FormEnd, TextField } from '../../ui/Form.tsx'
import { Checkbox, MoneyInput } from '../../ui/inputs.tsx'
import { Badge, type BadgeTone, Empty, Panel } from '../../ui/layout.tsx'
import { QueryView, ShowMore } from '../../ui/QueryView.tsx'
import { Money, Time } from '../../ui/values.tsx'
import { AutomaticTopUp } from './AutomaticTopUp.tsx'

type Card = AnswerOf<'GET /card'>
type Payment = AnswerOf<'GET /payments'>['items'][number]

/** The payments of an account, its saved card and what is charged to it. */
export function CardPanels({ card, mayPay }: { card: Card; mayPay: boolean }) {
  return (
    <>
      {mayPay && card.enabled && <AutomaticTopUp card={card} />}
      <PaymentsPanel />
    </>
  )
}

export function AddFundsDialog({ card: { min, max }, onClose }: { card: Card; onClose: () => void }) {
  const { payments } = useMessages()
  const formats = useFormats()
  const [amount, setAmount] = useState('')
  const [savesCard, setSavesCard] = useState(false)
  const [isWrong, setIsWrong] = useState(false)
  const start = useApiMutation('POST /card/top-up', {
    problem: 'shown-here',
    onDone: ({ url }) => location.assign(url),
  })
  const send = () => {
    const read = readMoney(amount)
    setIsWrong(read === undefined)
    if (read !== undefined) start.mutate({ body: { amount: read, save_card: savesCard } })
  }
  return (
    <Dialog title={payments.addTitle} open onClose={onClose}>
      <Form onSend={send} validatedBy="send">
        <p className="text-soft">{payments.addText}</p>
        <TextField
          as={MoneyInput}
          label={payments.amount}
          hint={payments.amountHint(formats.money(min), formats.money(max))}
          error={isWrong ? payments.amountWrong : undefined}
          data-autofocus
          required
          value={amount}
          onText={setAmount}
        />
        <Checkbox
          label={payments.saveCard}
          hint={payments.saveCardHint}
          checked={savesCard}
          onChange={(event) => setSavesCard(event.target.checked)}
        />
        <FormEnd mutation={start} go={payments.go} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

const PAYMENT_TONES: Readonly<Record<Payment['state'], BadgeTone>> = {
  open: 'held',
  failed: 'bad',
  expired: 'plain',
  paid: 'good',
}

function PaymentsPanel() {
  const { payments } = useMessages()
  const query = usePayments()
  const columns = usePaymentColumns()
  return (
    <Panel title={payments.payments} padding="flush">
      <QueryView query={query} lines={4}>
        {(data) => {
          const rows = itemsOf(data)
          return rows.length === 0 ? (
            <Empty icon={CreditCard} title={payments.none} text={payments.noneText} />
          ) : (
            <DataTable caption={payments.payments} columns={columns} rows={rows} rowId={({ id }) => id} />
          )
        }}
      </QueryView>
      <ShowMore query={query} />
    </Panel>
  )
}

function usePaymentColumns(): Column<Payment>[] {
  const { payments } = useMessages()
  return [
    { id: 'when', header: payments.when, cell: ({ created_at }) => <Time at={created_at} as="time" /> },
    {
      id: 'what',
      header: payments.what,
      narrow: 'title',
      cell: ({ kind, plan, failure }) => (
        <div className="grid max-w-96">
          <span>{plan === null ? payments.kinds[kind] : `${payments.kinds[kind]}: ${plan}`}</span>
          {failure !== null && <span className="text-xs wrap-anywhere text-faint">{failure}</span>}
        </div>
      ),
    },
    {
      id: 'state',
      header: payments.state,
      narrow: 'corner',
      cell: ({ state }) => <Badge tone={PAYMENT_TONES[state]}>{payments.states[state]}</Badge>,
    },
    { id: 'amount', header: payments.amount, align: 'end', cell: ({ amount }) => <Money amount={amount} /> },
    { id: 'back', header: payments.back, cell: (payment) => <TakenBack payment={payment} /> },
    {
      id: 'receipt',
      header: payments.receipt,
      cell: ({ receipt_url }) =>
        receipt_url !== null && (
          <a href={receipt_url} target="_blank" rel="noreferrer" className="text-accent hover:underline">
            {payments.receipt}
          </a>
        ),
    },
  ]
}

const isSome = (amount: string): boolean => /[1-9]/.test(amount)

function TakenBack({ payment: { refunded, disputed, owed } }: { payment: Payment }) {
  const { payments } = useMessages()
  const formats = useFormats()
  const lines = [
    isSome(refunded) ? payments.refunded(formats.money(refunded)) : undefined,
    isSome(disputed) ? payments.disputed(formats.money(disputed)) : undefined,
    isSome(owed) ? payments.owed(formats.money(owed)) : undefined,
  ].filter((line) => line !== undefined)
  return (
    <span className="grid text-soft">
      {lines.map((line) => (
        <span key={line}>{line}</span>
      ))}
    </span>
  )
}
