import { useId, useState } from 'react'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { type Choice, TextInput } from './inputs.tsx'

interface PickerProps {
  readonly label: string
  readonly hint?: string
  readonly find: string
  readonly none: string
  /** What is shown when nothing matches the search. */
  readonly noMatch: string
  /** Empty: none. */
  readonly value: string
  readonly options: readonly Choice<string>[]
  readonly onPick: (value: string) => void
}

/** More are found by typing more. */
const SHOWN_MAX = 50
/** So few need no search. */
const FEW = 6

/** Picks one of many, or none, with a search. */
export function Picker({ label, hint, find, none, noMatch, value, options, onPick }: PickerProps) {
  const id = useId()
  const { common } = useMessages()
  const [typed, setTyped] = useState('')
  const text = typed.trim().toLowerCase()
  const found = options.filter((option) => option.label.toLowerCase().includes(text))
  // The picked one stays in sight while the person types.
  const picked = options.filter((option) => option.value === value && !found.slice(0, SHOWN_MAX).includes(option))
  const shown = [{ value: '', label: none }, ...picked, ...found.slice(0, SHOWN_MAX)]
  return (
    <fieldset
      className="grid min-w-0 grid-cols-1 content-start gap-1"
      aria-describedby={hint === undefined ? undefined : `${id}-hint`}
    >
      <legend className="mb-1 text-sm font-medium">
        {label}
        <span className="ms-1.5 font-normal text-faint">{common.optional}</span>
      </legend>
      <div className="min-w-0 rounded-lg border border-line">
        {options.length > FEW && (
          <div className="border-b border-line p-2">
            <TextInput
              type="search"
              aria-label={find}
              placeholder={find}
              spellCheck={false}
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
              // Enter in the search field must not submit the form.
              onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
            />
          </div>
        )}
        <div className="grid max-h-40 grid-cols-1 gap-1 overflow-y-auto p-2">
          {shown.map((option) => (
            <label
              key={option.value}
              className="flex min-h-7 min-w-0 items-center gap-2 rounded-md px-1 hover:bg-hover"
            >
              <input
                type="radio"
                name={id}
                checked={option.value === value}
                onChange={() => onPick(option.value)}
                className="size-4 shrink-0 accent-accent"
              />
              <span className="min-w-0 truncate" title={option.label}>
                {option.label}
              </span>
            </label>
          ))}
          {found.length === 0 && options.length > 0 && <p className="px-1 text-sm text-faint">{noMatch}</p>}
        </div>
      </div>
      {hint !== undefined && (
        <p id={`${id}-hint`} className="text-xs text-faint">
          {hint}
        </p>
      )}
    </fieldset>
  )
}
