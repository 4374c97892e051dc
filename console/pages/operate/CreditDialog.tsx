import { useState } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog, DialogActions } from '../../ui/Dialog.tsx'
import { Money } from '../../ui/Money.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { CreditForm } from './CreditForm.tsx'

interface CreditDialogProps {
  readonly account: string
  readonly open: boolean
  /** What stands in the form when it opens. */
  readonly amount: string
  readonly reason: string
  readonly onClose: () => void
}

type Credited = AnswerOf<'POST /operate/accounts/:account/credit'>

/** Moves money into a wallet or out of it, and says whether it was counted. */
export function CreditDialog(props: CreditDialogProps) {
  const { accounts } = useWords()
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
  const { accounts, common } = useWords()
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
