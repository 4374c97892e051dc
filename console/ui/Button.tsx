import { LoaderCircle, type LucideIcon } from 'lucide-react'
import type { ComponentProps } from 'react'
import { cx } from '../lib/cx.ts'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { Hint } from './Hint.tsx'

type ButtonTone = 'primary' | 'plain' | 'quiet' | 'danger'

const BASE =
  'inline-flex min-h-8 items-center justify-center gap-1.5 rounded-md px-3 py-1 text-center font-medium whitespace-nowrap transition-colors disabled:cursor-not-allowed disabled:opacity-55 aria-busy:cursor-progress aria-busy:opacity-55 [&_svg]:size-4 [&_svg]:shrink-0'

const TONES: Readonly<Record<ButtonTone, string>> = {
  primary: 'bg-accent text-on-accent enabled:hover:bg-accent-strong',
  plain: 'border border-edge/60 bg-surface text-ink enabled:hover:border-edge enabled:hover:bg-hover',
  quiet: 'text-soft enabled:hover:bg-hover enabled:hover:text-ink',
  danger: 'bg-bad text-on-bad enabled:hover:bg-bad-strong',
}

/** For a `Link` that looks like a button. */
export const buttonClass = (tone: ButtonTone = 'plain'): string => cx(BASE, TONES[tone].replaceAll('enabled:', ''))

interface ButtonProps extends ComponentProps<'button'> {
  readonly tone?: ButtonTone
  /** While its action runs, the button keeps its place and cannot be pressed again. */
  readonly busy?: boolean
}

export function Button({ tone = 'plain', busy = false, className, children, onClick, ...rest }: ButtonProps) {
  const { common } = useMessages()
  return (
    <button
      type="button"
      {...rest}
      // A disabled button loses the focus, and keyboard users their place on the page.
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
      // Also keeps Enter in a field from submitting the form twice.
      onClick={busy ? (event) => event.preventDefault() : onClick}
      className={cx(BASE, TONES[tone], className)}
    >
      {busy && <LoaderCircle aria-label={common.working} className="animate-spin" />}
      {children}
    </button>
  )
}

interface IconButtonProps extends Omit<ComponentProps<'button'>, 'children'> {
  readonly icon: LucideIcon
  /** Announced, and shown on hover and focus. */
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
