import { Button } from '../../ui/Button.tsx'
import { MoneyText } from '../../ui/MoneyText.tsx'
import { Time } from '../../ui/Time.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import type { AccountDetail } from './AccountView.tsx'

interface WishNoteProps {
  readonly asked: NonNullable<AccountDetail['asked']>
  readonly onCredit: (amount: string) => void
}

/** What the owner has asked for, and the one button that answers it. */
export function WishNote({ asked, onCredit }: WishNoteProps) {
  const { accounts } = useWords()
  return (
    <div className="flex flex-wrap items-center justify-between gap-3 rounded-xl border border-line bg-held-wash px-4 py-3">
      <div className="min-w-0">
        <p className="font-semibold text-held">
          <MoneyText say={accounts.asks} amounts={[asked.amount]} />
        </p>
        <p className="break-words">{asked.note}</p>
        <p className="text-sm text-soft">
          <Time at={asked.at} />
        </p>
      </div>
      <Button onClick={() => onCredit(asked.amount)}>{accounts.creditThis}</Button>
    </div>
  )
}
