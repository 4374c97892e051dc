import { Download } from 'lucide-react'
import { useState } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { readMoney, timesMoney } from '../../lib/money.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { type SecretMutation, saveFile, useSecretMutation } from '../../queries/mutations.ts'
import { Button } from '../../ui/Button.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { Dialog, DialogActions } from '../../ui/Dialog.tsx'
import { Field, Form, FormEnd, TextField } from '../../ui/Form.tsx'
import { choicesOf, MoneyInput, Select } from '../../ui/inputs.tsx'
import { Money } from '../../ui/values.tsx'

type Made = AnswerOf<'POST /operate/codes'>['items']

/** Creates codes and shows them once. The secrets exist only in this state. */
export function CreateCodesDialog({ onClose }: { onClose: () => void }) {
  const { codes } = useMessages().operator
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
  const { codes } = useMessages().operator
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
      <FormEnd mutation={make} go={codes.go} disabled={read === undefined || many === undefined} onCancel={onClose} />
    </Form>
  )
}

function CreatedCodes({ made, onClose }: { made: Made; onClose: () => void }) {
  const { codes } = useMessages().operator
  const text = made.map(({ secret }) => `${secret}\n`).join('')
  // The file is made in the browser, so that the secrets are not sent again.
  const save = () => saveFile(new File([text], codes.fileName, { type: 'text/plain' }))
  return (
    <div className="grid grid-cols-1 gap-4">
      <p className="text-soft">{codes.madeText}</p>
      <ul className="max-h-80 divide-y divide-line overflow-y-auto rounded-lg border border-line bg-sunken">
        {made.map(({ code, secret }) => (
          <li key={code.id} className="flex items-center gap-2 ps-3 pe-1">
            <code className="min-w-0 flex-1 py-1 break-all select-all">{secret}</code>
            <span className="text-sm text-soft">
              <Money amount={code.amount} />
            </span>
            <CopyButton text={secret} />
          </li>
        ))}
      </ul>
      <DialogActions>
        <Button onClick={save}>
          <Download aria-hidden="true" />
          {codes.download}
        </Button>
        <CopyButton text={text} label={codes.copyAll} look="button" />
        <Button tone="primary" onClick={onClose}>
          {codes.stored}
        </Button>
      </DialogActions>
    </div>
  )
}
