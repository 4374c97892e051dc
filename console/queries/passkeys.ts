import { type UseMutationResult, useMutation } from '@tanstack/react-query'
import type { AnswerOf } from '../../src/contract/console-api.ts'
import { type MutationName, runMutation } from '../lib/api-client.ts'
import { asProblem, type ConsoleProblem, partLost } from '../lib/console-problem.ts'
import { useInvalidate } from './mutations.ts'

/** A mutation with a step on this device. Nothing of it stays in the cache. */
export function useDeviceMutation(
  name: MutationName,
  run: () => Promise<void>,
): UseMutationResult<void, ConsoleProblem, void> {
  const invalidate = useInvalidate(name)
  return useMutation({
    gcTime: 0,
    mutationFn: () =>
      run().catch((error: unknown) => {
        throw asProblem(error)
      }),
    onSuccess: invalidate,
  })
}

const CHALLENGES = {
  'POST /session/passkey': 'POST /session/challenge',
  'POST /session/confirm/passkey': 'POST /session/confirm/challenge',
} as const

/** Asks the device to sign with a passkey, and sends that. */
export function usePasskey(
  name: keyof typeof CHALLENGES,
  onDone: (session: AnswerOf<'POST /session'>) => void,
): UseMutationResult<AnswerOf<'POST /session'>, ConsoleProblem, void> {
  const invalidate = useInvalidate(name)
  return useMutation({
    mutationFn: async () => {
      try {
        const { signChallenge } = await import('../lib/passkeys.ts').catch(rethrowAsLost)
        const body = await signChallenge(await runMutation(CHALLENGES[name], {}))
        return await runMutation(name, { body })
      } catch (error) {
        throw asProblem(error)
      }
    },
    onSuccess: (session) => {
      invalidate()
      onDone(session)
    },
  })
}

const rethrowAsLost = (): never => {
  throw partLost()
}
