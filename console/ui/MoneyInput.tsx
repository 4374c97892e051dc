import type { ComponentProps } from 'react'
import { TextInput } from './TextInput.tsx'

/** An amount of money as text: numbers of the browser would lose digits. The sign before it says in what it is meant. */
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
