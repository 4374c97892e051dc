import { useState } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { readMoney } from '../../lib/money.ts'
import { useApiMutation } from '../../queries/mutations.ts'
import { Dialog } from '../../ui/Dialog.tsx'
import { Field, TextField } from '../../ui/Field.tsx'
import { Form, FormEnd } from '../../ui/Form.tsx'
import { MoneyInput, TextArea } from '../../ui/TextInput.tsx'
import { useMessages } from '../../messages/MessagesProvider.tsx'

const NOTE_MAX = 500

/** The server keeps notes as lines. */
const onOneLine = (text: string): string => text.trim().replace(/\s+/g, ' ')

interface RequestFundsDialogProps {
  /** What is asked for already: this replaces it. */
  readonly asked: AnswerOf<'GET /wallet'>['asked']
  readonly onClose: () => void
  /** For somebody who has a code. */
  readonly onRedeem: () => void
}

export function RequestFundsDialog({ asked, onClose, onRedeem }: RequestFundsDialogProps) {
  const { wallet } = useMessages()
  const [amount, setAmount] = useState(asked?.amount ?? '')
  const [note, setNote] = useState(asked?.note ?? '')
  const [isWrong, setIsWrong] = useState(false)
  const ask = useApiMutation('POST /wallet/ask', {
    done: wallet.askedDone,
    problem: 'shown-here',
    onDone: onClose,
  })
  const send = () => {
    const read = readMoney(amount)
    setIsWrong(read === undefined)
    if (read !== undefined) ask.mutate({ body: { amount: read, note: onOneLine(note) } })
  }
  return (
    <Dialog title={wallet.askTitle} open onClose={onClose}>
      <Form onSend={send} judgedBy="send">
        <p className="text-soft">{asked === null ? wallet.askText : wallet.askAgain}</p>
        <p>
          <button type="button" className="min-h-6 text-accent hover:underline" onClick={onRedeem}>
            {wallet.haveCode}
          </button>
        </p>
        <TextField
          as={MoneyInput}
          label={wallet.amount}
          hint={wallet.amountHint}
          error={isWrong ? wallet.amountWrong : undefined}
          data-autofocus
          required
          value={amount}
          onText={setAmount}
        />
        <Field label={wallet.note} hint={wallet.noteHint} optional>
          {(control) => (
            <TextArea
              {...control}
              maxLength={NOTE_MAX}
              value={note}
              onChange={(event) => setNote(event.target.value)}
            />
          )}
        </Field>
        <FormEnd act={ask} go={wallet.askGo} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}
