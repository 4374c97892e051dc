import { useState } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { readMoney } from '../../lib/money.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useApiMutation } from '../../queries/mutations.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { Form, FormEnd, TextField } from '../../ui/Form.tsx'
import { MoneyInput } from '../../ui/inputs.tsx'
import { Panel } from '../../ui/layout.tsx'

type Card = AnswerOf<'GET /card'>

/** The saved card, and when it is charged. */
export function AutomaticTopUp({ card: status }: { card: Card }) {
  const { payments } = useMessages()
  const { card, automatic } = status
  const [isOpen, setIsOpen] = useState(false)
  const remove = useApiMutation('DELETE /card', { done: payments.removed })
  const change = useApiMutation('PUT /card/automatic', { done: payments.saved })
  const { below, add, month_max } = automatic
  const turnOff = () => change.mutate({ body: { on: false, below, add, month_max } })
  return (
    <Panel title={payments.card}>
      <div className="grid gap-3">
        <div className="flex flex-wrap items-center justify-between gap-3">
          <p>{card ?? payments.noCard}</p>
          {card !== null && (
            <Button busy={remove.isPending} onClick={() => remove.mutate({})}>
              {payments.removeCard}
            </Button>
          )}
        </div>
        {card !== null && automatic.allowed && (
          <div className="flex flex-wrap items-center justify-between gap-3">
            <AutomaticState card={status} />
            <span className="flex flex-wrap gap-2">
              {automatic.on && (
                <Button busy={change.isPending} onClick={turnOff}>
                  {payments.turnOff}
                </Button>
              )}
              <Button onClick={() => setIsOpen(true)}>{payments.change}</Button>
            </span>
          </div>
        )}
      </div>
      {isOpen && <AutomaticDialog card={status} onClose={() => setIsOpen(false)} />}
    </Panel>
  )
}

function AutomaticState({ card: { automatic } }: { card: Card }) {
  const { payments } = useMessages()
  const formats = useFormats()
  const { on, failure } = automatic
  return (
    <div className="grid gap-0.5">
      <span className="font-medium">{payments.automatic}</span>
      <span className="text-soft">
        {on
          ? payments.automaticOn(formats.money(automatic.below), formats.money(automatic.add))
          : payments.automaticOff}
      </span>
      {on && (
        <span className="text-soft">
          {payments.automaticMonth(formats.money(automatic.month_used), formats.money(automatic.month_max))}
        </span>
      )}
      {failure !== null && (
        <span role="alert" className="text-bad">
          {on ? payments.automaticFailed(failure) : payments.automaticStopped(failure)}
        </span>
      )}
    </div>
  )
}

const FIELDS = ['below', 'add', 'month_max'] as const

function AutomaticDialog({ card: { automatic }, onClose }: { card: Card; onClose: () => void }) {
  const { payments } = useMessages()
  const [values, setValues] = useState({ below: automatic.below, add: automatic.add, month_max: automatic.month_max })
  const [wrong, setWrong] = useState<(typeof FIELDS)[number]>()
  const change = useApiMutation('PUT /card/automatic', { done: payments.saved, problem: 'shown-here', onDone: onClose })
  const send = () => {
    const { below, add, month_max } = {
      below: readMoney(values.below),
      add: readMoney(values.add),
      month_max: readMoney(values.month_max),
    }
    setWrong(
      below === undefined ? 'below' : add === undefined ? 'add' : month_max === undefined ? 'month_max' : undefined,
    )
    if (below === undefined || add === undefined || month_max === undefined) return
    change.mutate({ body: { on: true, below, add, month_max } })
  }
  const labels = { below: payments.below, add: payments.addAmount, month_max: payments.monthMax }
  return (
    <Dialog title={payments.automatic} open onClose={onClose}>
      <Form onSend={send} validatedBy="send">
        <p className="text-soft">{payments.automaticText}</p>
        {FIELDS.map((name) => (
          <TextField
            key={name}
            as={MoneyInput}
            label={labels[name]}
            hint={name === 'month_max' ? payments.monthHint : undefined}
            error={wrong === name ? payments.amountWrong : undefined}
            required
            value={values[name]}
            onText={(text) => setValues({ ...values, [name]: text })}
          />
        ))}
        <FormEnd mutation={change} go={payments.save} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}
