import { CONSOLE_BASE } from '../../lib/api-client.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { useSessionState } from '../../queries/session.ts'
import { buttonClass } from '../../ui/Button.tsx'

/** Links, because the browser leaves the console for the provider. */
export function SignOnButtons({ next }: { next: string | undefined }) {
  const { signOn } = useMessages().people
  const { sign_on } = useSessionState()
  const search = next === undefined ? '' : `?${new URLSearchParams({ next })}`
  return (
    <div className="mb-5 grid gap-3 border-b border-line pb-5">
      {sign_on.map(({ name, label }) => (
        <a key={name} href={`${CONSOLE_BASE}/sso/${name}${search}`} className={`${buttonClass('plain')} min-h-10`}>
          {signOn.with(label)}
        </a>
      ))}
    </div>
  )
}

export function SignOnRefusal({ problem }: { problem: string }) {
  const { signOn } = useMessages().people
  const texts: Readonly<Record<string, string>> = signOn.problems
  return (
    <p role="alert" className="mb-5 rounded-md bg-bad-wash px-3 py-2 font-medium text-bad">
      {Object.hasOwn(texts, problem) ? texts[problem] : signOn.problems.invalid}
    </p>
  )
}
