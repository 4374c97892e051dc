import { useState } from 'react'
import type { AnswerOf } from '../../../../src/contract/console-api.ts'
import { readMoney, timesMoney } from '../../../lib/money.ts'
import { type SecretMutation, useSecretMutation } from '../../../queries/mutations.ts'
import { choicesOf } from '../../../ui/choices.ts'
import { Dialog } from '../../../ui/Dialog.tsx'
import { Field, TextField } from '../../../ui/Field.tsx'
import { Form, FormEnd } from '../../../ui/Form.tsx'
import { Select } from '../../../ui/Select.tsx'
import { MoneyInput } from '../../../ui/TextInput.tsx'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import { CreatedCodes } from './CreatedCodes.tsx'

export type Made = AnswerOf<'POST /operate/codes'>['items']

/** Makes codes and shows them this once: what is shown lives in here and is gone with it. */
export function CreateCodesDialog({ onClose }: { onClose: () => void }) {
  const { codes } = useMessages()
  const formats = useFormats()
  const [made, setMade] = useState<Made>()
  const make = useSecretMutation('POST /operate/codes', ({ items }) => setMade(items))
  if (made === undefined) {
    return (
      <Dialog title={codes.makeTitle} open onClose={onClose} closing={make.isPending ? 'by-button' : 'anyhow'}>
        <CreateCodesForm make={make} onClose={onClose} />
      </Dialog>
    )
  }
  return (
    <Dialog title={formats.plural(made.length, codes.made)} open onClose={onClose} closing="by-button">
      <CreatedCodes made={made} onClose={onClose} />
    </Dialog>
  )
}

interface CreateCodesFormProps {
  readonly make: SecretMutation<'POST /operate/codes'>
  readonly onClose: () => void
}

const EXPIRIES = ['never', '30d', '90d', '365d', 'date'] as const
const COUNT_MAX = 100

const readCount = (text: string): number | undefined =>
  /^\d{1,3}$/.test(text.trim()) && Number(text) >= 1 && Number(text) <= COUNT_MAX ? Number(text) : undefined

function CreateCodesForm({ make, onClose }: CreateCodesFormProps) {
  const { codes } = useMessages()
  const formats = useFormats()
  const [amount, setAmount] = useState('')
  const [count, setCount] = useState('1')
  const [note, setNote] = useState('')
  const [expires, setExpires] = useState<(typeof EXPIRIES)[number]>('90d')
  const [day, setDay] = useState('')
  const [read, many] = [readMoney(amount), readCount(count)]
  const send = () => {
    if (read === undefined || many === undefined) return
    const until = expires === 'never' ? null : expires === 'date' ? day : expires
    make.mutate({ body: { amount: read, count: many, note: note.trim(), expires: until } })
  }
  return (
    <Form onSend={send}>
      <div className="grid grid-cols-2 gap-3">
        <TextField
          as={MoneyInput}
          label={codes.amount}
          error={amount !== '' && read === undefined ? codes.amountWrong : undefined}
          data-autofocus
          required
          value={amount}
          onText={setAmount}
        />
        <TextField
          label={codes.count}
          hint={codes.countHint}
          error={count !== '' && many === undefined ? codes.countWrong : undefined}
          required
          inputMode="numeric"
          value={count}
          onText={setCount}
        />
      </div>
      <TextField label={codes.note} hint={codes.noteHint} optional maxLength={200} value={note} onText={setNote} />
      <div className="grid grid-cols-2 gap-3">
        <Field label={codes.expires}>
          {(control) => (
            <Select {...control} value={expires} options={choicesOf(EXPIRIES, codes.expiries)} onPick={setExpires} />
          )}
        </Field>
        {expires === 'date' && (
          <TextField label={codes.day} hint={codes.dayHint} type="date" required value={day} onText={setDay} />
        )}
      </div>
      {read !== undefined && many !== undefined && many > 1 && (
        <p className="figures text-sm text-soft">{codes.worth(formats.money(timesMoney(read, many)))}</p>
      )}
      <FormEnd act={make} go={codes.go} disabled={read === undefined || many === undefined} onCancel={onClose} />
    </Form>
  )
}
