import { ChevronDown } from 'lucide-react'
import type { ComponentProps } from 'react'
import { cx } from '../lib/cx.ts'
import type { Choice } from './choices.ts'
import { controlClass } from './TextInput.tsx'

interface SelectProps<Value extends string> extends Omit<ComponentProps<'select'>, 'value' | 'onChange'> {
  readonly value: Value
  readonly options: readonly Choice<Value>[]
  readonly onPick: (value: Value) => void
}

/** The browser's own list of choices: it works with every keyboard, screen reader and telephone. */
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
