import { type UseMutationResult, useMutation, useQueryClient } from '@tanstack/react-query'
import type { AnswerOf } from '../../src/contract/console-api.ts'
import { type ActOptions, act } from '../lib/ask.ts'
import { asProblem, type ConsoleProblem, wasCancelled } from '../lib/console-problem.ts'
import type { ActName, QuestionName } from '../lib/route-address.ts'
import { toast } from '../ui/toast.ts'

interface ActPlan<Name extends ActName> {
  /** Questions that this makes stale; whatever of them is on screen is asked again. */
  readonly changes: readonly QuestionName[]
  /** Said when it is done. */
  readonly done?: string | undefined
  readonly onDone?: ((answer: AnswerOf<Name>) => void) | undefined
  /** A form shows its own problem; everything else says it in a toast. */
  readonly problem?: 'toast' | 'shown-here'
}

/** Something that a person does: the act, then what it makes stale, then a word about it. */
export function useAct<Name extends ActName>(
  name: Name,
  plan: ActPlan<Name>,
): UseMutationResult<AnswerOf<Name>, ConsoleProblem, ActOptions<Name>> {
  const client = useQueryClient()
  return useMutation({
    mutationFn: async (options: ActOptions<Name>): Promise<AnswerOf<Name>> => {
      try {
        return await act(name, options)
      } catch (error) {
        throw asProblem(error)
      }
    },
    onSuccess: (answer) => {
      for (const question of plan.changes) void client.invalidateQueries({ queryKey: [question] })
      if (plan.done !== undefined) toast({ tone: 'good', text: plan.done })
      plan.onDone?.(answer)
    },
    onError: (problem) => {
      if (plan.problem !== 'shown-here' && !wasCancelled(problem)) toast({ tone: 'bad', problem })
    },
  })
}
