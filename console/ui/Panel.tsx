import { type ReactNode, useId } from 'react'
import { cx } from '../lib/cx.ts'

interface PanelProps {
  readonly title?: string
  readonly about?: string
  readonly actions?: ReactNode
  readonly children: ReactNode
  /** `flush`: what is inside reaches the edges, as tables do. */
  readonly padding?: 'inside' | 'flush'
}

/** A part of a page with a name of its own. */
export function Panel({ title, about, actions, children, padding = 'inside' }: PanelProps) {
  const id = useId()
  return (
    <section
      aria-labelledby={title === undefined ? undefined : id}
      className="min-w-0 rounded-xl border border-line bg-surface"
    >
      {title !== undefined && (
        <header className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1 px-4 pt-3 pb-1">
          <div className="min-w-0">
            <h2 id={id} className="text-lg font-semibold">
              {title}
            </h2>
            {about !== undefined && <p className="text-sm text-faint">{about}</p>}
          </div>
          {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </header>
      )}
      <div
        className={cx(
          padding === 'inside' ? 'px-4 pt-2 pb-4' : 'pb-1',
          title === undefined && padding === 'inside' && 'pt-4',
        )}
      >
        {children}
      </div>
    </section>
  )
}
