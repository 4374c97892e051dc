import { type UseMutationResult, useMutation, useQueryClient } from '@tanstack/react-query'
import type { AnswerOf } from '../../src/contract/console-api.ts'
import { type ActOptions, act } from '../lib/ask.ts'
import { asProblem, type ConsoleProblem, wasCancelled } from '../lib/console-problem.ts'
import type { ActName } from '../lib/route-address.ts'
import { toast } from '../ui/toast.ts'
import { staleAfter } from './stale.ts'

interface ActPlan<Name extends ActName> {
  /** Said when it is done. */
  readonly done?: string | undefined
  readonly onDone?: ((answer: AnswerOf<Name>) => void) | undefined
  /** A form shows its own problem; everything else says it in a toast. */
  readonly problem?: 'toast' | 'shown-here'
}

/** Something that a person does: the act, then what it makes stale, then a word about it. */
export function useAct<Name extends ActName>(
  name: Name,
  { done, onDone, problem: shown = 'toast' }: ActPlan<Name> = {},
): UseMutationResult<AnswerOf<Name>, ConsoleProblem, ActOptions<Name>> {
  const renew = useRenew(name)
  return useMutation({
    mutationFn: (options: ActOptions<Name>) => act(name, options).catch(rethrown),
    onSuccess: (answer) => {
      renew()
      if (done !== undefined) toast({ tone: 'good', text: done })
      onDone?.(answer)
    },
    onError: (problem) => {
      if (shown === 'toast' && !wasCancelled(problem)) toast({ tone: 'bad', problem })
    },
  })
}

/** As it is handed on to the form that sends it. */
export type SecretAct<Name extends ActName> = UseMutationResult<void, ConsoleProblem, ActOptions<Name>>

/**
 * An act whose answer has a secret in it that is shown once, by a form that shows its own problem. The answer is handed to
 * whoever shows it and is nowhere else: what a mutation resolves to, or was asked with, would otherwise stay in the cache,
 * where any part of the page could read it.
 */
export function useSecretAct<Name extends ActName>(
  name: Name,
  onMade: (answer: AnswerOf<Name>) => void,
): SecretAct<Name> {
  const renew = useRenew(name)
  return useMutation({
    gcTime: 0,
    mutationFn: async (options: ActOptions<Name>) => {
      // Not what onMade returns: that could be the secret.
      onMade(await act(name, options).catch(rethrown))
    },
    onSuccess: renew,
  })
}

/** Asks again whatever of the page something has made stale. */
export function useRenew(done: ActName | 'turn'): () => void {
  const client = useQueryClient()
  return () => {
    for (const question of staleAfter(done)) void client.invalidateQueries({ queryKey: [question] })
  }
}

const rethrown = (error: unknown): never => {
  throw asProblem(error)
}
