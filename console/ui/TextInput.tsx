import type { ComponentProps } from 'react'
import { cx } from '../lib/cx.ts'

/** How everything looks that can be filled in. */
export const controlClass =
  'min-h-9 w-full min-w-0 rounded-md border border-edge/70 bg-surface px-2.5 py-1.5 text-ink placeholder:text-faint hover:border-edge focus-visible:border-accent focus-visible:outline-1 focus-visible:outline-offset-0 aria-invalid:border-bad disabled:cursor-not-allowed disabled:bg-sunken disabled:text-faint'

export const TextInput = ({ className, ...rest }: ComponentProps<'input'>) => (
  <input type="text" autoComplete="off" {...rest} className={cx(controlClass, className)} />
)

export const TextArea = ({ className, ...rest }: ComponentProps<'textarea'>) => (
  <textarea rows={3} {...rest} className={cx(controlClass, 'leading-normal', className)} />
)

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
