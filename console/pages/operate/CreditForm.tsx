import { type FormEvent, useState } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { readMoney } from '../../lib/read-money.ts'
import { useAct } from '../../questions/useAct.ts'
import { Button } from '../../ui/Button.tsx'
import { DialogActions } from '../../ui/Dialog.tsx'
import { Field } from '../../ui/Field.tsx'
import { MoneyInput } from '../../ui/MoneyInput.tsx'
import { ProblemNote } from '../../ui/ProblemNote.tsx'
import { Segmented } from '../../ui/Segmented.tsx'
import { TextInput } from '../../ui/TextInput.tsx'
import { useWords } from '../../words/WordsProvider.tsx'

interface CreditFormProps {
  readonly account: string
  readonly amount: string
  readonly reason: string
  readonly onClose: () => void
  readonly onDone: (credited: AnswerOf<'POST /operate/accounts/:account/credit'>) => void
}

const DIRECTIONS = ['add', 'take'] as const

/** Made up once for each form: whoever sends it twice moves money once. */
const newReference = (): string => `console-${crypto.getRandomValues(new Uint32Array(2)).join('-')}`

export function CreditForm({ account, onClose, onDone, ...first }: CreditFormProps) {
  const { accounts, common } = useWords()
  const words = accounts.credit
  const [direction, setDirection] = useState<(typeof DIRECTIONS)[number]>('add')
  const [amount, setAmount] = useState(first.amount)
  const [reason, setReason] = useState(first.reason)
  const [ref, setRef] = useState(newReference)
  const read = readMoney(amount)
  const credit = useAct('POST /operate/accounts/:account/credit', {
    changes: ['GET /operate/accounts', 'GET /operate/accounts/:account', 'GET /operate/wishes', 'GET /operate/audit'],
    problem: 'shown-here',
    onDone,
  })
  const send = (event: FormEvent) => {
    event.preventDefault()
    if (read === undefined) return
    const body = { amount: direction === 'take' ? `-${read}` : read, reason: reason.trim(), ref: ref.trim() }
    credit.mutate({ params: { account }, body })
  }
  return (
    <form className="grid gap-4" onSubmit={send}>
      <Segmented
        label={words.direction}
        value={direction}
        options={DIRECTIONS.map((value) => ({ value, label: words.directions[value] }))}
        onPick={setDirection}
      />
      <Field
        label={words.amount}
        hint={words.amountHint}
        error={amount !== '' && read === undefined ? words.amountWrong : undefined}
      >
        {(control) => (
          <MoneyInput
            {...control}
            data-autofocus
            required
            value={amount}
            onChange={(event) => setAmount(event.target.value)}
          />
        )}
      </Field>
      <Field label={words.reason} hint={words.reasonHint}>
        {(control) => (
          <TextInput
            {...control}
            required
            maxLength={200}
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        )}
      </Field>
      <Field label={words.ref} hint={words.refHint}>
        {(control) => (
          <TextInput
            {...control}
            required
            maxLength={100}
            spellCheck={false}
            className="font-mono"
            value={ref}
            onChange={(event) => setRef(event.target.value)}
          />
        )}
      </Field>
      {credit.error !== null && credit.error.code !== 'cancelled' && <ProblemNote error={credit.error} />}
      <DialogActions>
        <Button onClick={onClose}>{common.cancel}</Button>
        <Button tone="primary" type="submit" busy={credit.isPending} disabled={read === undefined}>
          {words[direction]}
        </Button>
      </DialogActions>
    </form>
  )
}
