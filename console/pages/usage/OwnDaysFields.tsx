import { useState } from 'react'
import { isDay } from '../../lib/zone-days.ts'
import { TextInput } from '../../ui/TextInput.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import type { OwnDays } from './usage-filter.ts'

interface OwnDaysFieldsProps {
  readonly days: OwnDays
  readonly onDays: (days: OwnDays) => void
}

/** Two days, both in the range. What is half typed is no range yet, and asks nothing. */
export function OwnDaysFields({ days, onDays }: OwnDaysFieldsProps) {
  const { usage } = useWords()
  const [draft, setDraft] = useState(days)
  const change = (changed: Partial<OwnDays>) => {
    const next = { ...draft, ...changed }
    setDraft(next)
    if (isDay(next.from) && isDay(next.through) && next.from <= next.through) onDays(next)
  }
  const isWrong = isDay(draft.from) && isDay(draft.through) && draft.from > draft.through
  return (
    <div className="grid gap-1">
      <div className="flex items-center gap-2">
        <TextInput
          type="date"
          className="max-w-38"
          aria-label={usage.from}
          title={usage.from}
          value={draft.from}
          aria-invalid={isWrong || undefined}
          onChange={(event) => change({ from: event.target.value })}
        />
        <span aria-hidden="true" className="text-faint">
          –
        </span>
        <TextInput
          type="date"
          className="max-w-38"
          aria-label={usage.through}
          title={usage.through}
          value={draft.through}
          aria-invalid={isWrong || undefined}
          onChange={(event) => change({ through: event.target.value })}
        />
      </div>
      {isWrong && (
        <p role="alert" className="text-xs font-medium text-bad">
          {usage.wrongDays}
        </p>
      )}
    </div>
  )
}
