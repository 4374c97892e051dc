import { type UseMutationResult, useMutation, useQueryClient } from '@tanstack/react-query'
import type { AnswerOf } from '../../src/contract/console-api.ts'
import { type MutationInput, runMutation } from '../lib/api-client.ts'
import { asProblem, type ConsoleProblem, wasCancelled } from '../lib/console-problem.ts'
import type { MutationName } from '../lib/route-address.ts'
import { toast } from '../ui/toast.ts'
import { queriesInvalidatedBy } from './invalidation.ts'

interface ApiMutationOptions<Name extends MutationName> {
  /** Said when it is done. */
  readonly done?: string | undefined
  readonly onDone?: ((answer: AnswerOf<Name>) => void) | undefined
  /** A form shows its own problem; everything else says it in a toast. */
  readonly problem?: 'toast' | 'shown-here'
}

/** Something that a person does: the act, then what it makes stale, then a word about it. */
export function useApiMutation<Name extends MutationName>(
  name: Name,
  { done, onDone, problem: shown = 'toast' }: ApiMutationOptions<Name> = {},
): UseMutationResult<AnswerOf<Name>, ConsoleProblem, MutationInput<Name>> {
  const invalidate = useInvalidate(name)
  return useMutation({
    mutationFn: (options: MutationInput<Name>) => runMutation(name, options).catch(rethrown),
    onSuccess: (answer) => {
      invalidate()
      if (done !== undefined) toast({ tone: 'good', text: done })
      onDone?.(answer)
    },
    onError: (problem) => {
      if (shown === 'toast' && !wasCancelled(problem)) toast({ tone: 'bad', problem })
    },
  })
}

/** As it is handed on to the form that sends it. */
export type SecretMutation<Name extends MutationName> = UseMutationResult<void, ConsoleProblem, MutationInput<Name>>

/**
 * An act whose answer has a secret in it that is shown once, by a form that shows its own problem. The answer is handed to
 * whoever shows it and is nowhere else: what a mutation resolves to, or was asked with, would otherwise stay in the cache,
 * where any part of the page could read it.
 */
export function useSecretMutation<Name extends MutationName>(
  name: Name,
  onMade: (answer: AnswerOf<Name>) => void,
): SecretMutation<Name> {
  const invalidate = useInvalidate(name)
  return useMutation({
    gcTime: 0,
    mutationFn: async (options: MutationInput<Name>) => {
      // Not what onMade returns: that could be the secret.
      onMade(await runMutation(name, options).catch(rethrown))
    },
    onSuccess: invalidate,
  })
}

/** Asks again whatever of the page something has made stale. */
export function useInvalidate(done: MutationName | 'turn'): () => void {
  const client = useQueryClient()
  return () => {
    for (const query of queriesInvalidatedBy(done)) void client.invalidateQueries({ queryKey: [query] })
  }
}

const rethrown = (error: unknown): never => {
  throw asProblem(error)
}
