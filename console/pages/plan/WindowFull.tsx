import { Hourglass } from 'lucide-react'
import { nanoOf } from '../../lib/nano.ts'
import { TimeText } from '../../ui/TimeText.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import type { PlanWindow } from './plan-window.ts'

/** What it means that nothing is left: for good until the reset, or only while something runs. */
export function WindowFull({ window: { left, held, end } }: { window: PlanWindow }) {
  const { plan } = useWords()
  if (nanoOf(left) > 0n) return null
  const isHeld = nanoOf(held) > 0n
  return (
    <div className="flex gap-2.5 rounded-lg bg-held-wash px-3 py-2">
      <Hourglass aria-hidden="true" className="mt-0.5 size-4 shrink-0 text-held" />
      <div>
        <p className="font-medium text-held">
          {isHeld ? plan.inFlight : end === null ? plan.full('') : <TimeText say={plan.full} at={end} />}
        </p>
        {!isHeld && <p className="text-sm">{plan.fullHint}</p>}
      </div>
    </div>
  )
}
