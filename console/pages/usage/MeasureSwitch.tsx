import { Segmented } from '../../ui/Segmented.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { groupOf, type Measure, type MeasureGroup, MONEY_PARTS, TOKEN_PARTS } from './usage-measure.ts'

const GROUPS: readonly MeasureGroup[] = ['money', 'requests', 'tokens', 'failed']

interface MeasureSwitchProps {
  readonly measure: Measure
  readonly onPick: (measure: Measure) => void
}

/** What is measured, and, of money and tokens, which part of it. */
export function MeasureSwitch({ measure, onPick }: MeasureSwitchProps) {
  const { usage } = useWords()
  const group = groupOf(measure)
  return (
    <div className="flex flex-wrap gap-x-4 gap-y-2">
      <Segmented
        label={usage.measure}
        value={group}
        options={GROUPS.map((value) => ({ value, label: usage.measures[value] }))}
        onPick={onPick}
      />
      {group === 'money' && (
        <Segmented
          label={usage.moneyParts}
          value={MONEY_PARTS.find((part) => part === measure) ?? 'money'}
          options={MONEY_PARTS.map((value) => ({ value, label: usage.moneyPart[value] }))}
          onPick={onPick}
        />
      )}
      {group === 'tokens' && (
        <Segmented
          label={usage.tokenParts}
          value={TOKEN_PARTS.find((part) => part === measure) ?? 'tokens'}
          options={TOKEN_PARTS.map((value) => ({ value, label: usage.tokenPart[value] }))}
          onPick={onPick}
        />
      )}
    </div>
  )
}
