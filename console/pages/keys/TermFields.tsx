import { MoneyInput } from '../../ui/MoneyInput.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { ExpiryChoice } from './ExpiryChoice.tsx'
import { LIMITS } from './key-draft.ts'
import { ModelChoice } from './ModelChoice.tsx'
import type { DraftProps } from './NameField.tsx'
import type { OwnKey } from './own-key.ts'

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
  const { keys } = useWords()
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
  const { keys } = useWords()
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
