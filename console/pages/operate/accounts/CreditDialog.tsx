import { useState } from 'react'
import type { AnswerOf } from '../../../../src/contract/console-api.ts'
import { readMoney } from '../../../lib/money.ts'
import { useMessages } from '../../../messages/MessagesProvider.tsx'
import { useApiMutation } from '../../../queries/mutations.ts'
import { Button } from '../../../ui/Button.tsx'
import { Dialog, DialogActions } from '../../../ui/Dialog.tsx'
import { Form, FormEnd, TextField } from '../../../ui/Form.tsx'
import { choicesOf, MoneyInput, Segmented } from '../../../ui/inputs.tsx'
import { Money } from '../../../ui/values.tsx'

interface CreditDialogProps {
  readonly account: string
  readonly open: boolean
  /** The initial form values. */
  readonly amount: string
  readonly reason: string
  readonly onClose: () => void
}

type Credited = AnswerOf<'POST /operate/accounts/:account/credit'>

export function CreditDialog(props: CreditDialogProps) {
  const { accounts } = useMessages()
  return (
    <Dialog title={accounts.credit.title} open={props.open} onClose={props.onClose}>
      <Crediting {...props} />
    </Dialog>
  )
}

function Crediting({ account, amount, reason, onClose }: CreditDialogProps) {
  const [credited, setCredited] = useState<Credited>()
  return credited === undefined ? (
    <CreditForm account={account} amount={amount} reason={reason} onClose={onClose} onDone={setCredited} />
  ) : (
    <Result credited={credited} onClose={onClose} />
  )
}

function Result({ credited: { counted, wallet }, onClose }: { credited: Credited; onClose: () => void }) {
  const { accounts, common } = useMessages()
  return (
    <div className="grid gap-4">
      <div
        role="status"
        className={`rounded-lg px-3 py-2 ${counted ? 'bg-good-wash text-good' : 'bg-held-wash text-held'}`}
      >
        {counted ? accounts.credit.counted : accounts.credit.notCounted}
      </div>
      <p className="flex items-baseline justify-between">
        <span className="text-soft">{accounts.credit.balanceNow}</span>
        <span className="text-xl font-semibold">
          <Money amount={wallet.balance} />
        </span>
      </p>
      <DialogActions>
        <Button tone="primary" autoFocus onClick={onClose}>
          {common.done}
        </Button>
      </DialogActions>
    </div>
  )
}

interface CreditFormProps {
  readonly account: string
  readonly amount: string
  readonly reason: string
  readonly onClose: () => void
  readonly onDone: (credited: AnswerOf<'POST /operate/accounts/:account/credit'>) => void
}

const DIRECTIONS = ['add', 'take'] as const

/** One reference per form, so that a double submit is booked once. */
const newReference = (): string => `console-${crypto.getRandomValues(new Uint32Array(2)).join('-')}`

function CreditForm({ account, onClose, onDone, ...first }: CreditFormProps) {
  const { accounts } = useMessages()
  const messages = accounts.credit
  const [direction, setDirection] = useState<(typeof DIRECTIONS)[number]>('add')
  const [amount, setAmount] = useState(first.amount)
  const [reason, setReason] = useState(first.reason)
  const [ref, setRef] = useState(newReference)
  const read = readMoney(amount)
  const credit = useApiMutation('POST /operate/accounts/:account/credit', {
    problem: 'shown-here',
    onDone,
  })
  const send = () => {
    if (read === undefined) return
    const body = { amount: direction === 'take' ? `-${read}` : read, reason: reason.trim(), ref: ref.trim() }
    credit.mutate({ params: { account }, body })
  }
  return (
    <Form onSend={send}>
      <Segmented
        label={messages.direction}
        value={direction}
        options={choicesOf(DIRECTIONS, messages.directions)}
        onPick={setDirection}
      />
      <TextField
        as={MoneyInput}
        label={messages.amount}
        hint={messages.amountHint}
        error={amount !== '' && read === undefined ? messages.amountWrong : undefined}
        data-autofocus
        required
        value={amount}
        onText={setAmount}
      />
      <TextField
        label={messages.reason}
        hint={messages.reasonHint}
        required
        maxLength={200}
        value={reason}
        onText={setReason}
      />
      <TextField
        label={messages.ref}
        hint={messages.refHint}
        required
        maxLength={100}
        spellCheck={false}
        className="font-mono"
        value={ref}
        onText={setRef}
      />
      <FormEnd mutation={credit} go={messages[direction]} disabled={read === undefined} onCancel={onClose} />
    </Form>
  )
}
