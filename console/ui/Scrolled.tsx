import type { ReactNode } from 'react'

interface ScrolledProps {
  readonly label: string
  readonly className: string
  readonly children: ReactNode
}

/** A part that scrolls by itself. Without a place for the focus, nobody without a mouse would get to its end. */
export const Scrolled = ({ label, className, children }: ScrolledProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard.
  <section tabIndex={0} aria-label={label} className={className}>
    {children}
  </section>
)
