import { CircleCheck, Sigma } from 'lucide-react'
import { Button } from '../../ui/Button.tsx'
import { Money } from '../../ui/Money.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import type { PlanWindow, WindowRow } from './plan-window.ts'
import { windowSums } from './window-sums.ts'

interface WindowSumProps {
  /** As it stood when the rows were read. */
  readonly bar: PlanWindow
  readonly rows: readonly WindowRow[]
  readonly hasMore: boolean
  readonly onAgain: () => void
}

/** The rows added up, beside what the bar shows, so that nobody has to believe it. */
export function WindowSum({ bar, rows, hasMore, onAgain }: WindowSumProps) {
  const { plan } = useWords()
  const formats = useFormats()
  const sums = windowSums(bar, rows, { hasMore })
  const agrees = sums.verdict === 'agrees'
  const Icon = agrees ? CircleCheck : Sigma
  const text = sums.verdict === 'moved' ? plan.moved : formats.plural(rows.length, agrees ? plan.agrees : plan.partly)
  return (
    <div className="grid gap-2 border-b border-line bg-sunken/60 px-4 py-3 text-sm">
      <p className="flex items-start gap-2">
        <Icon aria-hidden="true" className={`mt-0.5 size-4 shrink-0 ${agrees ? 'text-good' : 'text-faint'}`} />
        <span className="flex-1">{text}</span>
        {sums.verdict === 'moved' && <Button onClick={onAgain}>{plan.again}</Button>}
      </p>
      <dl className="grid grid-cols-[auto_1fr_auto] gap-x-4 gap-y-0.5 sm:max-w-md">
        <SumLine name={plan.sumUsed} sum={sums.used} bar={bar.used} />
        <SumLine name={plan.sumHeld} sum={sums.held} bar={bar.held} />
      </dl>
    </div>
  )
}

function SumLine({ name, sum, bar }: { name: string; sum: string; bar: string }) {
  const { plan } = useWords()
  return (
    <div className="contents">
      <dt className="text-faint">{name}</dt>
      <dd className="text-end">
        <Money amount={sum} digits="exact" />
      </dd>
      <dd className="text-faint">
        {plan.bar} <Money amount={bar} digits="exact" />
      </dd>
    </div>
  )
}
