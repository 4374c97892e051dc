import { ChevronDown, Eye, EyeOff } from 'lucide-react'
import { type ComponentProps, type ReactNode, useId, useRef, useState } from 'react'
import { cx } from '../lib/cx.ts'
import { useLetterKey } from '../lib/letter-keys.ts'
import { usePreferences } from '../lib/preferences.ts'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { IconButton } from './Button.tsx'

/** An option for `Segmented`, `Select` and `MenuChoice`. */
export interface Choice<Value extends string> {
  readonly value: Value
  readonly label: string
}

export const choicesOf = <const Value extends string>(
  values: readonly Value[],
  names: Readonly<Record<NoInfer<Value>, string>>,
): Choice<Value>[] => values.map((value) => ({ value, label: names[value] }))

export const controlClass =
  'min-h-9 w-full min-w-0 rounded-md border border-edge/70 bg-surface px-2.5 py-1.5 text-ink placeholder:text-faint hover:border-edge focus-visible:border-accent focus-visible:outline-1 focus-visible:outline-offset-0 aria-invalid:border-bad disabled:cursor-not-allowed disabled:bg-sunken disabled:text-faint'

export const TextInput = ({ className, ...rest }: ComponentProps<'input'>) => (
  <input type="text" autoComplete="off" {...rest} className={cx(controlClass, className)} />
)

export const TextArea = ({ className, ...rest }: ComponentProps<'textarea'>) => (
  <textarea rows={3} {...rest} className={cx(controlClass, 'leading-normal', className)} />
)

/** Money is typed as text, because number inputs lose digits. */
export const MoneyInput = ({ className = '', ...rest }: Omit<ComponentProps<'input'>, 'type'>) => (
  <div className="relative">
    <span
      aria-hidden="true"
      className="pointer-events-none absolute inset-y-0 start-2.5 grid place-items-center text-faint"
    >
      $
    </span>
    <TextInput inputMode="decimal" spellCheck={false} {...rest} className={`figures ps-6 ${className}`} />
  </div>
)

export function PasswordInput(props: Omit<ComponentProps<'input'>, 'type'>) {
  const [shown, setShown] = useState(false)
  const { common } = useMessages()
  return (
    <div className="relative">
      <TextInput
        {...props}
        type={shown ? 'text' : 'password'}
        spellCheck={false}
        autoCapitalize="off"
        className="pe-10"
      />
      <IconButton
        icon={shown ? EyeOff : Eye}
        label={shown ? common.hide : common.show}
        aria-pressed={shown}
        onClick={() => setShown(!shown)}
        className="absolute inset-y-0.5 end-0.5"
      />
    </div>
  )
}

interface SearchInputProps extends Omit<ComponentProps<'input'>, 'ref' | 'type' | 'value' | 'onChange'> {
  readonly label: string
  readonly value: string
  readonly onText: (text: string) => void
}

/** A search field. `/` focuses it, and the placeholder says so if shortcuts are on. */
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

interface SelectProps<Value extends string> extends Omit<ComponentProps<'select'>, 'value' | 'onChange'> {
  readonly value: Value
  readonly options: readonly Choice<Value>[]
  readonly onPick: (value: Value) => void
}

/** A native select works with every keyboard, screen reader and phone. */
export function Select<Value extends string>({ value, options, onPick, className, ...rest }: SelectProps<Value>) {
  return (
    <div className={cx('relative', className)}>
      <select
        {...rest}
        value={value}
        onChange={(event) => {
          const picked = options.find((option) => option.value === event.target.value)
          if (picked !== undefined) onPick(picked.value)
        }}
        className={cx(controlClass, 'appearance-none pe-8')}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
      <ChevronDown
        aria-hidden="true"
        className="pointer-events-none absolute inset-y-0 end-2.5 my-auto size-4 text-faint"
      />
    </div>
  )
}

interface SegmentedProps<Value extends string> {
  readonly label: string
  readonly value: Value
  readonly options: readonly Choice<Value>[]
  readonly onPick: (value: Value) => void
}

/** Radio buttons as a segmented control. */
export function Segmented<Value extends string>({ label, value, options, onPick }: SegmentedProps<Value>) {
  const name = useId()
  return (
    <fieldset className="inline-flex max-w-full flex-wrap gap-0.5 rounded-lg bg-sunken p-0.5">
      <legend className="sr-only">{label}</legend>
      {options.map((option) => (
        <label
          key={option.value}
          className="relative inline-flex min-h-7 items-center rounded-md px-2.5 text-sm font-medium text-soft transition-colors hover:text-ink has-checked:bg-surface has-checked:text-ink has-checked:ring-1 has-checked:ring-line has-focus-visible:outline-2 has-focus-visible:outline-accent"
        >
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onPick(option.value)}
            className="absolute inset-0 m-0 appearance-none outline-none"
          />
          {option.label}
        </label>
      ))}
    </fieldset>
  )
}

interface ChoiceFieldProps<Value extends string> extends SegmentedProps<Value> {
  /** A hint or a field below the options. */
  readonly children?: ReactNode
}

/** A `Segmented` with a visible label, for forms. */
export const ChoiceField = <Value extends string>({ children, ...rest }: ChoiceFieldProps<Value>) => (
  <div className="grid content-start justify-items-start gap-1.5">
    <p aria-hidden="true" className="text-sm font-medium">
      {rest.label}
    </p>
    <Segmented {...rest} />
    {children}
  </div>
)

interface CheckboxProps extends Omit<ComponentProps<'input'>, 'type'> {
  readonly label: ReactNode
  readonly hint?: string
}

export function Checkbox({ label, hint, ...rest }: CheckboxProps) {
  const id = useId()
  return (
    <div className="flex gap-2.5">
      <input
        id={id}
        type="checkbox"
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        {...rest}
        className="mt-0.5 size-4.5 shrink-0 accent-accent"
      />
      <div className="grid gap-0.5">
        <label htmlFor={id}>{label}</label>
        {hint !== undefined && (
          <p id={`${id}-hint`} className="text-xs text-faint">
            {hint}
          </p>
        )}
      </div>
    </div>
  )
}

interface SwitchProps {
  readonly label: ReactNode
  readonly hint?: string
  readonly on: boolean
  readonly onChange: (on: boolean) => void
  readonly disabled?: boolean
}

/** For settings that take effect immediately. Forms use checkboxes. */
export function Switch({ label, hint, on, onChange, disabled = false }: SwitchProps) {
  const id = useId()
  return (
    <div className="flex items-start justify-between gap-4">
      <div className="grid gap-0.5">
        <label htmlFor={id} className="font-medium">
          {label}
        </label>
        {hint !== undefined && (
          <p id={`${id}-hint`} className="text-xs text-faint">
            {hint}
          </p>
        )}
      </div>
      <span className="relative inline-flex h-6 w-10 shrink-0">
        <input
          id={id}
          type="checkbox"
          role="switch"
          checked={on}
          aria-checked={on}
          disabled={disabled}
          aria-describedby={hint === undefined ? undefined : `${id}-hint`}
          onChange={(event) => onChange(event.target.checked)}
          className="peer absolute inset-0 m-0 appearance-none rounded-full border border-edge bg-sunken transition-colors checked:border-accent checked:bg-accent disabled:opacity-50"
        />
        <span
          aria-hidden="true"
          className="pointer-events-none absolute inset-y-1 start-1 size-4 rounded-full bg-edge transition-all peer-checked:start-5 peer-checked:bg-on-accent"
        />
      </span>
    </div>
  )
}
