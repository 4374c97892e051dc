import type { ReactNode } from 'react'
import { useMessages } from '../messages/MessagesProvider.tsx'

/** The parts of a page below each other. */
export const Page = ({ children }: { children: ReactNode }) => (
  <div className="grid grid-cols-1 content-start gap-5">{children}</div>
)

interface PageHeaderProps {
  readonly title: string
  readonly about?: ReactNode
  readonly actions?: ReactNode
}

/** The one h1 of a page, and the name of its tab. */
export function PageHeader({ title, about, actions }: PageHeaderProps) {
  const { common } = useMessages()
  return (
    <header className="flex flex-wrap items-end justify-between gap-x-6 gap-y-3">
      <title>{`${title} · ${common.product}`}</title>
      <div className="grid min-w-0 gap-0.5">
        <h1 className="text-2xl leading-tight font-semibold tracking-tight wrap-anywhere">{title}</h1>
        {about !== undefined && <p className="max-w-2xl text-soft">{about}</p>}
      </div>
      {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
    </header>
  )
}
