import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { stepLabels } from '../../lib/step-labels.ts'
import { QueryView, type QueryState } from '../../ui/QueryView.tsx'
import { countedChart, paidChart } from '../../ui/charts/chart-data.ts'
import { StackedBars } from '../../ui/charts/StackedBars.tsx'
import { choicesOf } from '../../ui/choices.ts'
import { Panel } from '../../ui/Panel.tsx'
import { Segmented } from '../../ui/Segmented.tsx'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import type { RecentUsage } from './BalanceTiles.tsx'

type Hours = RecentUsage['hours']
type Used = Hours[number]['used']
type Measure = 'requests' | 'cost' | 'tokens'

/** The last day by the hour: how many, how much, and how many tokens. */
export function DayChart({ query }: { query: QueryState<RecentUsage> }) {
  const { overview: messages } = useMessages()
  const [measure, setMeasure] = useState<Measure>('requests')
  return (
    <Panel
      title={messages.day}
      actions={
        <Link to="/usage" className="text-sm text-accent hover:underline">
          {messages.moreUsage}
        </Link>
      }
    >
      <div className="grid gap-3">
        <div>
          <Segmented
            label={messages.measure}
            value={measure}
            options={choicesOf(['requests', 'cost', 'tokens'] as const, messages.measures)}
            onPick={setMeasure}
          />
        </div>
        <QueryView query={query} lines={9}>
          {({ hours }) => <HourBars hours={hours} measure={measure} />}
        </QueryView>
      </div>
    </Panel>
  )
}

function HourBars({ hours, measure }: { hours: Hours; measure: Measure }) {
  const { dayCaption, series } = useMessages().overview
  const formats = useFormats()
  const used = hours.map((hour) => hour.used)
  const begins = hours.map(({ from }) => from)
  const drawn = { caption: dayCaption[measure], steps: stepLabels(begins, 'hour', formats) }
  const part = (id: keyof typeof series, of: (used: Used) => number) => ({
    ...{ id, name: series[id], values: used.map(of) },
  })
  switch (measure) {
    case 'requests': {
      const parts = [part('well', ({ requests, failed }) => requests - failed), part('failed', ({ failed }) => failed)]
      return <StackedBars data={countedChart({ ...drawn, series: parts }, formats)} />
    }
    case 'cost': {
      const payers = (['wallet', 'plan'] as const).map((id) => ({
        ...{ id, name: series[id], amounts: used.map((each) => each[id]) },
      }))
      return <StackedBars data={paidChart({ ...drawn, series: payers }, formats)} />
    }
    case 'tokens': {
      const parts = [
        part('uncached', ({ uncached_input, cache_write }) => uncached_input + cache_write),
        part('cached', ({ cached_input }) => cached_input),
        part('output', ({ output }) => output),
      ]
      return <StackedBars data={countedChart({ ...drawn, series: parts }, formats)} />
    }
  }
}
