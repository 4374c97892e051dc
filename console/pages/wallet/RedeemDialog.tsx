import { useState } from 'react'
import type { ConsoleProblem } from '../../lib/console-problem.ts'
import { useApiMutation } from '../../queries/mutations.ts'
import { Dialog } from '../../ui/Dialog.tsx'
import { TextField } from '../../ui/Field.tsx'
import { Form, FormEnd } from '../../ui/Form.tsx'
import { toast } from '../../ui/toast.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'

const CODE_MAX = 60

/** A code becomes money, once. Why it does not is said at the field. */
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
          act={redeem}
          errorShownAtField={wrong !== undefined}
          go={wallet.redeemGo}
          disabled={code.trim() === ''}
          onCancel={onClose}
        />
      </Form>
    </Dialog>
  )
}

/** What is wrong with a code, in words; undefined where something else is. */
function useCodeRefusal(problem: ConsoleProblem | null): string | undefined {
  const { wallet } = useMessages()
  const formats = useFormats()
  if (problem?.code === 'too_many_tries' && problem.retryAfter !== null) {
    return wallet.tooMany(formats.duration(problem.retryAfter * 1_000))
  }
  const known: Readonly<Record<string, string>> = wallet.refusals
  return problem === null ? undefined : known[problem.code]
}
