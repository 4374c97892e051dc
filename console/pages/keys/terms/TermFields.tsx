import { now } from '../../../lib/clock.ts'
import { addDays, dayIn } from '../../../lib/zone-days.ts'
import { choicesOf } from '../../../ui/choices.ts'
import { TextField } from '../../../ui/Field.tsx'
import { ChoiceField } from '../../../ui/Segmented.tsx'
import { MoneyInput } from '../../../ui/TextInput.tsx'
import { TimeText } from '../../../ui/Time.tsx'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import type { OwnKey } from '../own-key.ts'
import { EXPIRY_SPANS, type KeyDraft, LIMITS, NAME_MAX, type WrongField } from './key-draft.ts'
import { ModelChoice } from './ModelChoice.tsx'

export interface DraftProps {
  readonly draft: KeyDraft
  readonly onChange: (draft: KeyDraft) => void
  readonly wrong: readonly WrongField[]
}

export function NameField({ draft, onChange, wrong }: DraftProps) {
  const { keys } = useMessages()
  return (
    <TextField
      label={keys.name}
      hint={keys.nameHint}
      error={wrong.includes('name') ? keys.nameWrong : undefined}
      data-autofocus
      required
      maxLength={NAME_MAX}
      value={draft.name}
      onText={(name) => onChange({ ...draft, name })}
    />
  )
}

interface TermFieldsProps extends DraftProps {
  readonly kind: OwnKey['kind']
  /** Until when the key has been good so far; null for one that is only being made, too. */
  readonly expiresAt: string | null
}

/** What a key may do, how much, how fast and how long. */
export function TermFields({ kind, expiresAt, ...rest }: TermFieldsProps) {
  return (
    <>
      <ModelChoice kind={kind} {...rest} />
      <CapFields {...rest} />
      <ExpiryChoice expiresAt={expiresAt} {...rest} />
      <LimitFields {...rest} />
    </>
  )
}

const CAPS = [
  ['day', 'capDay'],
  ['month', 'capMonth'],
] as const

function CapFields({ draft, onChange, wrong }: DraftProps) {
  const { keys } = useMessages()
  return (
    <fieldset className="grid gap-1.5">
      <legend className="mb-1.5 text-sm font-medium">{keys.caps}</legend>
      <div className="grid gap-3 sm:grid-cols-2">
        {CAPS.map(([name, label]) => (
          <TextField
            key={name}
            as={MoneyInput}
            label={keys[label]}
            error={wrong.includes(name) ? keys.capWrong : undefined}
            value={draft[name]}
            onText={(text) => onChange({ ...draft, [name]: text })}
          />
        ))}
      </div>
      <p className="text-xs text-faint">{keys.capsHint}</p>
    </fieldset>
  )
}

/** Seldom needed, so folded until they are. */
function LimitFields({ draft, onChange, wrong }: DraftProps) {
  const { keys } = useMessages()
  const isUsed = LIMITS.some((name) => draft.limits[name] !== '')
  return (
    <details open={isUsed || undefined} className="group rounded-lg border border-line">
      <summary className="min-h-9 px-3 py-2 text-sm font-medium select-none">{keys.limits}</summary>
      <div className="grid gap-3 px-3 pb-3 sm:grid-cols-3">
        {LIMITS.map((name) => (
          <TextField
            key={name}
            label={keys.limitNames[name]}
            error={wrong.includes(name) ? keys.limitWrong : undefined}
            inputMode="numeric"
            value={draft.limits[name]}
            onText={(text) => onChange({ ...draft, limits: { ...draft.limits, [name]: text } })}
            className="figures"
          />
        ))}
        <p className="text-xs text-faint sm:col-span-3">{keys.limitsHint}</p>
      </div>
    </details>
  )
}

/** Until when a key is good: for ever, for a while from now, or until a day begins where the person is. */
function ExpiryChoice({ expiresAt, draft, onChange, wrong }: DraftProps & { expiresAt: string | null }) {
  const { keys } = useMessages()
  const formats = useFormats()
  const choices = [...(expiresAt === null ? [] : (['keep'] as const)), 'never', ...EXPIRY_SPANS, 'day'] as const
  return (
    <ChoiceField
      label={keys.expiry}
      value={draft.expiry}
      options={choicesOf(choices, keys.expiries)}
      onPick={(expiry) => onChange({ ...draft, expiry })}
    >
      {draft.expiry === 'keep' && expiresAt !== null && (
        <p className="text-xs text-faint">
          <TimeText say={keys.expiresNow} at={expiresAt} />
        </p>
      )}
      {draft.expiry === 'day' && (
        <TextField
          type="date"
          label={keys.expiryDay}
          hint={keys.expiryZone(formats.zone)}
          error={wrong.includes('expiry') ? keys.expiryWrong : undefined}
          min={addDays(dayIn(formats.zone, now()), 1)}
          value={draft.expiryDay}
          onText={(expiryDay) => onChange({ ...draft, expiryDay })}
        />
      )}
    </ChoiceField>
  )
}
