import { type UseMutationResult, useMutation, useQueryClient } from '@tanstack/react-query'
import type { AnswerOf } from '../../src/contract/console-api.ts'
import { type ActOptions, act } from '../lib/ask.ts'
import { asProblem, type ConsoleProblem } from '../lib/console-problem.ts'
import type { ActName, QuestionName } from '../lib/route-address.ts'

interface SecretActPlan<Name extends ActName> {
  readonly changes: readonly QuestionName[]
  /** The only one who is told the answer. */
  readonly onMade: (answer: AnswerOf<Name>) => void
}

/**
 * An act whose answer has a secret in it that is shown once. It is handed to whoever shows it and is nowhere else: what a
 * mutation resolves to, or was asked with, would otherwise stay in the cache, where any part of the page could read it.
 */
export function useSecretAct<Name extends ActName>(
  name: Name,
  { changes, onMade }: SecretActPlan<Name>,
): UseMutationResult<void, ConsoleProblem, ActOptions<Name>> {
  const client = useQueryClient()
  return useMutation({
    gcTime: 0,
    mutationFn: async (options: ActOptions<Name>): Promise<void> => {
      try {
        onMade(await act(name, options))
      } catch (error) {
        throw asProblem(error)
      }
    },
    onSuccess: () => {
      for (const question of changes) void client.invalidateQueries({ queryKey: [question] })
    },
  })
}
