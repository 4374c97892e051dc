import { KeyRound } from 'lucide-react'
import type { ConsoleProblem } from '../lib/console-problem.ts'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { Button } from './Button.tsx'
import { ProblemNote } from './QueryView.tsx'

interface PasskeyButtonProps {
  readonly passkey: {
    readonly error: ConsoleProblem | null
    readonly isPending: boolean
    readonly mutate: () => void
  }
}

/** Browsers have passkeys for names alone, and not for addresses. */
export const hasPasskeys = (): boolean =>
  'PublicKeyCredential' in globalThis && isSecureContext && /[a-z]/i.test(location.hostname)

export function PasskeyButton({ passkey: { error, isPending, mutate } }: PasskeyButtonProps) {
  const { common } = useMessages()
  return (
    <>
      <Button busy={isPending} onClick={() => mutate()} className="min-h-10">
        <KeyRound aria-hidden="true" />
        {common.usePasskey}
      </Button>
      {error !== null && <ProblemNote error={error} />}
    </>
  )
}
