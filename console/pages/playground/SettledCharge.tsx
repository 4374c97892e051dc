import { useSettledRequest } from '../../questions/useSettledRequest.ts'
import { Money } from '../../ui/Money.tsx'
import { useWords } from '../../words/WordsProvider.tsx'

/** What an answer that was not heard to its end has cost, as soon as the server knows. */
export function SettledCharge({ request, state }: { request: string; state: 'stopped' | 'failed' }) {
  const { playground } = useWords()
  const question = useSettledRequest(request)
  const charge = question.settled ? question.data?.charge : undefined
  const waiting = question.error === null && !question.settled
  return (
    <p role="status" className="rounded-md bg-held-wash px-2.5 py-1.5 text-held">
      {state === 'stopped' ? playground.stoppedCharged : playground.brokenCharged}{' '}
      {charge != null && (
        <span className="font-semibold">
          {playground.charged} <Money amount={charge} />
        </span>
      )}
      {waiting && playground.chargePending}
      {question.error !== null && playground.chargeUnknown}
    </p>
  )
}
