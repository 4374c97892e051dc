import { type FormEvent, useState } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { readMoney } from '../../lib/read-money.ts'
import { useAct } from '../../questions/useAct.ts'
import { FormEnd } from '../../ui/FormEnd.tsx'
import { MoneyInput } from '../../ui/MoneyInput.tsx'
import { Segmented } from '../../ui/Segmented.tsx'
import { TextField } from '../../ui/TextField.tsx'
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
  const { accounts } = useWords()
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
      <TextField
        as={MoneyInput}
        label={words.amount}
        hint={words.amountHint}
        error={amount !== '' && read === undefined ? words.amountWrong : undefined}
        data-autofocus
        required
        value={amount}
        onText={setAmount}
      />
      <TextField
        label={words.reason}
        hint={words.reasonHint}
        required
        maxLength={200}
        value={reason}
        onText={setReason}
      />
      <TextField
        label={words.ref}
        hint={words.refHint}
        required
        maxLength={100}
        spellCheck={false}
        className="font-mono"
        value={ref}
        onText={setRef}
      />
      <FormEnd act={credit} go={words[direction]} disabled={read === undefined} onCancel={onClose} />
    </form>
  )
}
