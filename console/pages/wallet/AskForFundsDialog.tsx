import { type FormEvent, useState } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { wasCancelled } from '../../lib/console-problem.ts'
import { readMoney } from '../../lib/read-money.ts'
import { useAct } from '../../questions/useAct.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog, DialogActions } from '../../ui/Dialog.tsx'
import { Field } from '../../ui/Field.tsx'
import { MoneyInput } from '../../ui/MoneyInput.tsx'
import { ProblemNote } from '../../ui/ProblemNote.tsx'
import { TextArea } from '../../ui/TextArea.tsx'
import { useWords } from '../../words/WordsProvider.tsx'

const NOTE_MAX = 500

/** The server keeps notes as lines. */
const onOneLine = (text: string): string => text.trim().replace(/\s+/g, ' ')

interface AskForFundsDialogProps {
  /** What is asked for already: this replaces it. */
  readonly asked: AnswerOf<'GET /wallet'>['asked']
  readonly onClose: () => void
}

export function AskForFundsDialog({ asked, onClose }: AskForFundsDialogProps) {
  const { wallet, common } = useWords()
  const [amount, setAmount] = useState(asked?.amount ?? '')
  const [note, setNote] = useState(asked?.note ?? '')
  const [isWrong, setIsWrong] = useState(false)
  const ask = useAct('POST /wallet/ask', {
    ...{ changes: ['GET /wallet'], done: wallet.askedDone, problem: 'shown-here', onDone: onClose },
  })
  const send = (event: FormEvent) => {
    event.preventDefault()
    const read = readMoney(amount)
    setIsWrong(read === undefined)
    if (read !== undefined) ask.mutate({ body: { amount: read, note: onOneLine(note) } })
  }
  return (
    <Dialog title={wallet.askTitle} open onClose={onClose}>
      <form className="grid gap-4" onSubmit={send} noValidate>
        <p className="text-soft">{asked === null ? wallet.askText : wallet.askAgain}</p>
        <Field label={wallet.amount} hint={wallet.amountHint} error={isWrong ? wallet.amountWrong : undefined}>
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
        {ask.error !== null && !wasCancelled(ask.error) && <ProblemNote error={ask.error} />}
        <DialogActions>
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button tone="primary" type="submit" busy={ask.isPending}>
            {wallet.askGo}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}
