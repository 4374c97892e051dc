import { now } from '../../lib/clock.ts'
import { addDays, dayIn } from '../../lib/zone-days.ts'
import { Field } from '../../ui/Field.tsx'
import { Segmented } from '../../ui/Segmented.tsx'
import { TextInput } from '../../ui/TextInput.tsx'
import { TimeText } from '../../ui/TimeText.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import { EXPIRY_SPANS } from './key-draft.ts'
import type { DraftProps } from './NameField.tsx'

/** Until when a key is good: for ever, for a while from now, or until a day begins where the person is. */
export function ExpiryChoice({ expiresAt, draft, onChange, wrong }: DraftProps & { expiresAt: string | null }) {
  const { keys } = useWords()
  const formats = useFormats()
  const choices = [...(expiresAt === null ? [] : (['keep'] as const)), 'never', ...EXPIRY_SPANS, 'day'] as const
  return (
    <div className="grid justify-items-start gap-1.5">
      <p className="text-sm font-medium">{keys.expiry}</p>
      <Segmented
        label={keys.expiry}
        value={draft.expiry}
        options={choices.map((value) => ({ value, label: keys.expiries[value] }))}
        onPick={(expiry) => onChange({ ...draft, expiry })}
      />
      {draft.expiry === 'keep' && expiresAt !== null && (
        <p className="text-xs text-faint">
          <TimeText say={keys.expiresNow} at={expiresAt} />
        </p>
      )}
      {draft.expiry === 'day' && (
        <Field
          label={keys.expiryDay}
          hint={keys.expiryZone(formats.zone)}
          error={wrong.includes('expiry') ? keys.expiryWrong : undefined}
        >
          {(control) => (
            <TextInput
              {...control}
              type="date"
              min={addDays(dayIn(formats.zone, now()), 1)}
              value={draft.expiryDay}
              onChange={(event) => onChange({ ...draft, expiryDay: event.target.value })}
            />
          )}
        </Field>
      )}
    </div>
  )
}
