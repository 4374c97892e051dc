import { type ReactNode, useId } from 'react'
import type { Choice } from './choices.ts'

interface SegmentedProps<Value extends string> {
  readonly label: string
  readonly value: Value
  readonly options: readonly Choice<Value>[]
  readonly onPick: (value: Value) => void
}

/** One of a few, all in sight: radio buttons in the shape of a bar. */
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
  /** What there is to say about the choice, or to fill in behind it. */
  readonly children?: ReactNode
}

/** The same with its label in sight, as a part of a form. */
export const ChoiceField = <Value extends string>({ children, ...rest }: ChoiceFieldProps<Value>) => (
  <div className="grid content-start justify-items-start gap-1.5">
    <p aria-hidden="true" className="text-sm font-medium">
      {rest.label}
    </p>
    <Segmented {...rest} />
    {children}
  </div>
)
