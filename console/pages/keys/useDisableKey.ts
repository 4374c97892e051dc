import { useAct } from '../../questions/useAct.ts'
import { useWords } from '../../words/WordsProvider.tsx'
import type { KeyFacts } from './own-key.ts'

/** Stops a key for a while, or lets it go on: it can be undone, so nothing is asked back. */
export function useDisableKey({ id, state }: KeyFacts) {
  const { keys } = useWords()
  const isDisabled = state === 'disabled'
  const { mutate, isPending } = useAct('PATCH /keys/:key', {
    changes: ['GET /keys', 'GET /keys/:key', 'GET /audit', 'GET /overview'],
    done: isDisabled ? keys.enabled : keys.disabled,
  })
  return { isDisabled, isPending, run: () => mutate({ params: { key: id }, body: { disabled: !isDisabled } }) }
}
