import { useState } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import type { ConsoleProblem } from '../../lib/console-problem.ts'
import { readMoney } from '../../lib/money.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useApiMutation } from '../../queries/mutations.ts'
import { Dialog } from '../../ui/Dialog.tsx'
import { Field, Form, FormEnd, TextField } from '../../ui/Form.tsx'
import { MoneyInput, TextArea } from '../../ui/inputs.tsx'
import { toast } from '../../ui/toast.ts'

const CODE_MAX = 60

export function RedeemDialog({ onClose }: { onClose: () => void }) {
  const { wallet } = useMessages()
  const formats = useFormats()
  const [code, setCode] = useState('')
  const redeem = useApiMutation('POST /wallet/redeem', {
    problem: 'shown-here',
    onDone: ({ amount }) => {
      toast({ tone: 'good', text: wallet.redeemed(formats.money(amount)) })
      onClose()
    },
  })
  const wrong = useCodeRefusal(redeem.error)
  return (
    <Dialog title={wallet.redeemTitle} open onClose={onClose}>
      <Form onSend={() => redeem.mutate({ body: { code: code.trim() } })}>
        <TextField
          label={wallet.code}
          hint={wallet.codeHint}
          error={wrong}
          data-autofocus
          required
          maxLength={CODE_MAX}
          spellCheck={false}
          autoCapitalize="characters"
          value={code}
          onText={setCode}
          className="font-mono"
        />
        <FormEnd
          mutation={redeem}
          errorShownAtField={wrong !== undefined}
          go={wallet.redeemGo}
          disabled={code.trim() === ''}
          onCancel={onClose}
        />
      </Form>
    </Dialog>
  )
}

/** Undefined if something else than the code is wrong. */
function useCodeRefusal(problem: ConsoleProblem | null): string | undefined {
  const { wallet } = useMessages()
  const formats = useFormats()
  if (problem?.code === 'too_many_tries' && problem.retryAfter !== null) {
    return wallet.tooMany(formats.duration(problem.retryAfter * 1_000))
  }
  const known: Readonly<Record<string, string>> = wallet.refusals
  return problem === null ? undefined : known[problem.code]
}

const NOTE_MAX = 500

/** The server stores notes on one line. */
const onOneLine = (text: string): string => text.trim().replace(/\s+/g, ' ')

interface RequestFundsDialogProps {
  /** The open request, which this one replaces. */
  readonly asked: AnswerOf<'GET /wallet'>['asked']
  readonly onClose: () => void
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
      <Form onSend={send} validatedBy="send">
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
        <FormEnd mutation={ask} go={wallet.askGo} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}
