import { useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useSyncExternalStore } from 'react'
import { CONSOLE_BASE } from '../lib/api-client.ts'
import { partLost } from '../lib/console-problem.ts'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { sessionQuery, useSession } from '../queries/session.ts'
import { buttonClass } from '../ui/Button.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { Skeleton } from '../ui/QueryView.tsx'
import { onConfirmation } from './confirmation.ts'

/** Loaded when it is first needed. */
const PasswordForm = lazy(async () => {
  const { PasswordForm: form } = await import('./PasswordForm.tsx').catch(() => {
    throw partLost()
  })
  return { default: form }
})

export function ConfirmPassword() {
  const { shell } = useMessages()
  const isOpen = useSyncExternalStore(onPasswordPrompt, isPasswordPromptOpen)
  const { confirm_by } = useSession().session
  useEffect(() => cancelPasswordPrompt, [])
  return (
    <Dialog
      title={confirm_by === null ? shell.confirm.title : shell.confirm.titleByProvider}
      open={isOpen}
      onClose={cancelPasswordPrompt}
    >
      {confirm_by === null ? (
        <Suspense fallback={<Skeleton />}>
          <PasswordForm onDone={resolvePasswordPrompt} />
        </Suspense>
      ) : (
        <ProviderForm names={confirm_by} />
      )}
    </Dialog>
  )
}

/** For a person without a password: they sign in at their provider again, in another window. */
function ProviderForm({ names }: { names: readonly string[] }) {
  const { shell } = useMessages()
  const { sign_on } = useSession().session
  const client = useQueryClient()
  useEffect(
    () =>
      onConfirmation(() => {
        void client.invalidateQueries({ queryKey: sessionQuery.queryKey })
        resolvePasswordPrompt(true)
      }),
    [client],
  )
  const providers = sign_on.filter(({ name }) => names.includes(name))
  return (
    <div className="grid gap-4">
      <p className="text-soft">{providers.length === 0 ? shell.confirm.noProvider : shell.confirm.byProvider}</p>
      {providers.map(({ name, label }) => (
        <a
          key={name}
          href={`${CONSOLE_BASE}/sso/${name}?confirm=1`}
          target="_blank"
          rel="noopener opener"
          className={buttonClass('primary')}
        >
          {shell.confirm.with(label)}
        </a>
      ))}
    </div>
  )
}

let waiting: ((confirmed: boolean) => void)[] = []
const listeners = new Set<() => void>()

const notifyListeners = () => {
  for (const listener of listeners) listener()
}

/** Opens the password dialog. Concurrent mutations share one answer. */
export const requestPassword = (): Promise<boolean> =>
  new Promise((resolve) => {
    waiting = [...waiting, resolve]
    notifyListeners()
  })

function resolvePasswordPrompt(confirmed: boolean): void {
  const resolvers = waiting
  waiting = []
  notifyListeners()
  for (const resolve of resolvers) resolve(confirmed)
}

export const cancelPasswordPrompt = (): void => resolvePasswordPrompt(false)

const isPasswordPromptOpen = (): boolean => waiting.length > 0

function onPasswordPrompt(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
