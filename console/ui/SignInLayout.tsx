import type { ReactNode } from 'react'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { Mark } from './Mark.tsx'

interface SignInLayoutProps {
  readonly title: string
  readonly about?: ReactNode
  /** For panels, which have frames of their own. */
  readonly isWide?: boolean
  readonly children: ReactNode
}

export function SignInLayout({ title, about, isWide = false, children }: SignInLayoutProps) {
  const { common } = useMessages()
  return (
    <main className="grid min-h-dvh place-items-center px-4 py-10">
      <title>{`${title} · ${common.product}`}</title>
      <div className={`grid w-full gap-6 ${isWide ? 'max-w-2xl' : 'max-w-sm'}`}>
        <div className="grid justify-items-center gap-3 text-center">
          <Mark size={44} />
          <h1 className="text-2xl leading-tight font-semibold tracking-tight">{title}</h1>
          {about !== undefined && <p className="text-soft">{about}</p>}
        </div>
        <div className={isWide ? 'grid gap-4' : 'rounded-xl border border-line bg-surface p-5'}>{children}</div>
      </div>
    </main>
  )
}
