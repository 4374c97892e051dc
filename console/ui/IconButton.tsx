import type { LucideIcon } from 'lucide-react'
import type { ComponentProps } from 'react'
import { cx } from '../lib/cx.ts'
import { Hint } from './Hint.tsx'

interface IconButtonProps extends Omit<ComponentProps<'button'>, 'children'> {
  readonly icon: LucideIcon
  /** Read aloud, and shown on hover and focus. */
  readonly label: string
}

export function IconButton({ icon: Icon, label, className, ...rest }: IconButtonProps) {
  return (
    <Hint text={label}>
      <button
        type="button"
        {...rest}
        aria-label={label}
        className={cx(
          'inline-grid size-8 shrink-0 place-items-center rounded-md text-soft transition-colors enabled:hover:bg-hover enabled:hover:text-ink disabled:opacity-50',
          className,
        )}
      >
        <Icon aria-hidden="true" className="size-4" />
      </button>
    </Hint>
  )
}
