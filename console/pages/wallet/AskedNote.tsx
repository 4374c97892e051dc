import { Hourglass } from 'lucide-react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { Button } from '../../ui/Button.tsx'
import { MoneyText } from '../../ui/MoneyText.tsx'
import { Time } from '../../ui/Time.tsx'
import { useWords } from '../../words/WordsProvider.tsx'

interface AskedNoteProps {
  readonly asked: NonNullable<AnswerOf<'GET /wallet'>['asked']>
  readonly onChange: () => void
}

/** What the operator was asked for and has not answered yet. */
export function AskedNote({ asked, onChange }: AskedNoteProps) {
  const { wallet } = useWords()
  return (
    <section
      aria-label={wallet.askedTitle}
      className="flex flex-wrap items-start gap-x-4 gap-y-2 rounded-xl border border-line bg-held-wash px-4 py-3"
    >
      <Hourglass aria-hidden="true" className="mt-0.5 size-4 shrink-0 text-held" />
      <div className="min-w-48 flex-1">
        <p className="font-medium text-held">{wallet.askedTitle}</p>
        <p className="text-sm">
          <MoneyText say={wallet.asked} amounts={[asked.amount]} />, <Time at={asked.at} />.
        </p>
        {asked.note !== '' && <p className="text-sm wrap-anywhere whitespace-pre-line text-soft">“{asked.note}”</p>}
      </div>
      <Button onClick={onChange}>{wallet.askChange}</Button>
    </section>
  )
}
