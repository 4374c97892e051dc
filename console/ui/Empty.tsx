import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'

interface EmptyProps {
  readonly icon?: LucideIcon
  /** What this is. */
  readonly title: string
  /** Why there is none of it. */
  readonly text?: ReactNode
  /** The one button that changes that. */
  readonly action?: ReactNode
}

export const Empty = ({ icon: Icon, title, text, action }: EmptyProps) => (
  <div className="grid justify-items-center gap-1.5 px-4 py-10 text-center">
    {Icon !== undefined && (
      <span className="mb-1 grid size-11 place-items-center rounded-full bg-accent-wash text-accent">
        <Icon aria-hidden="true" className="size-5" />
      </span>
    )}
    <p className="font-semibold">{title}</p>
    {text !== undefined && <p className="max-w-md text-soft">{text}</p>}
    {action !== undefined && <div className="mt-3">{action}</div>}
  </div>
)
