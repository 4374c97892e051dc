import { type ComponentProps, useRef } from 'react'
import { useLetterKey } from '../lib/letter-keys.ts'
import { usePreferences } from '../lib/preferences.ts'
import { TextInput } from './TextInput.tsx'

interface SearchInputProps extends Omit<ComponentProps<'input'>, 'ref' | 'type' | 'value' | 'onChange'> {
  readonly label: string
  readonly value: string
  readonly onText: (text: string) => void
}

/** Where somebody looks for something on this page; `/` leads there, and it says so where letters are keys. */
export function SearchInput({ label, onText, ...rest }: SearchInputProps) {
  const field = useRef<HTMLInputElement>(null)
  const { letterKeys } = usePreferences()
  useLetterKey('/', label, () => field.current?.focus())
  return (
    <TextInput
      {...rest}
      ref={field}
      type="search"
      spellCheck={false}
      aria-label={label}
      placeholder={letterKeys ? `${label} ( / )` : label}
      onChange={(event) => onText(event.target.value)}
    />
  )
}
