import type { ReactNode } from 'react'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { Mark } from '../../ui/Mark.tsx'

export function SignInLayout({ title, about, children }: { title: string; about?: ReactNode; children: ReactNode }) {
  const { common } = useMessages()
  return (
    <main className="grid min-h-dvh place-items-center px-4 py-10">
      <title>{`${title} · ${common.product}`}</title>
      <div className="grid w-full max-w-sm gap-6">
        <div className="grid justify-items-center gap-3 text-center">
          <Mark size={44} />
          <h1 className="text-2xl leading-tight font-semibold tracking-tight">{title}</h1>
          {about !== undefined && <p className="text-soft">{about}</p>}
        </div>
        <div className="rounded-xl border border-line bg-surface p-5">{children}</div>
      </div>
    </main>
  )
}
