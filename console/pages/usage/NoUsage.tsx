import { Link } from '@tanstack/react-router'
import { ChartColumn } from 'lucide-react'
import { Button, buttonClass } from '../../ui/Button.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { isNarrowed, type UsageFilter } from './usage-filter.ts'
import { widerThan } from './usage-range.ts'

interface NoUsageProps {
  readonly filter: UsageFilter
  readonly onChange: (filter: UsageFilter) => void
}

/** Nothing there: look further back, then at everything, then at how to begin. */
export function NoUsage({ filter, onChange }: NoUsageProps) {
  const { usage } = useWords()
  const { empty } = usage
  const wider = widerThan(filter.range)
  const narrowed = isNarrowed(filter)
  return (
    <Empty
      icon={ChartColumn}
      title={empty.title}
      text={narrowed ? empty.filteredText : empty.text}
      action={
        wider !== undefined ? (
          <Button tone="primary" onClick={() => onChange({ ...filter, range: wider, step: undefined })}>
            {empty.widen(usage.ranges[wider])}
          </Button>
        ) : narrowed ? (
          <Button onClick={() => onChange({ ...filter, model: undefined, key: undefined, kind: undefined })}>
            {empty.clear}
          </Button>
        ) : (
          <Link to="/connect" className={buttonClass('primary')}>
            {empty.connect}
          </Link>
        )
      }
    />
  )
}
