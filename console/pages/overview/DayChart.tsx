import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { sumMoney } from '../../lib/money.ts'
import { stepLabels } from '../../lib/step-labels.ts'
import { Answer, type Asked } from '../../ui/Answer.tsx'
import { StackedBars } from '../../ui/charts/StackedBars.tsx'
import { choicesOf } from '../../ui/choices.ts'
import { Panel } from '../../ui/Panel.tsx'
import { Segmented } from '../../ui/Segmented.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import type { LatelyUsed } from './StandingTiles.tsx'

type Hours = LatelyUsed['hours']
type Used = Hours[number]['used']
type Measure = 'requests' | 'cost' | 'tokens'

/** The last day by the hour: how many, how much, and how many tokens. */
export function DayChart({ question }: { question: Asked<LatelyUsed> }) {
  const { overview: words } = useWords()
  const [measure, setMeasure] = useState<Measure>('requests')
  return (
    <Panel
      title={words.day}
      actions={
        <Link to="/usage" className="text-sm text-accent hover:underline">
          {words.moreUsage}
        </Link>
      }
    >
      <div className="grid gap-3">
        <div>
          <Segmented
            label={words.measure}
            value={measure}
            options={choicesOf(['requests', 'cost', 'tokens'] as const, words.measures)}
            onPick={setMeasure}
          />
        </div>
        <Answer question={question} lines={9}>
          {({ hours }) => <HourBars hours={hours} measure={measure} />}
        </Answer>
      </div>
    </Panel>
  )
}

function HourBars({ hours, measure }: { hours: Hours; measure: Measure }) {
  const { overview: words } = useWords()
  const formats = useFormats()
  const used = hours.map((hour) => hour.used)
  const steps = stepLabels(
    hours.map(({ from }) => from),
    'hour',
    formats,
  )
  const counted = (id: string, name: string, of: (used: Used) => number) => ({
    ...{ id, name, values: used.map(of) },
    texts: used.map((each) => formats.count(of(each))),
  })
  const paid = (id: 'wallet' | 'plan') => ({
    ...{ id, name: words.series[id], values: used.map((each) => Number(each[id])) },
    texts: used.map((each) => formats.exactMoney(each[id])),
  })
  const { series } = words
  switch (measure) {
    case 'requests':
      return (
        <StackedBars
          data={{
            ...{ caption: words.dayCaption.requests, steps, tick: formats.short, unit: 'whole' },
            series: [
              counted('well', series.well, ({ requests, failed }) => requests - failed),
              counted('failed', series.failed, ({ failed }) => failed),
            ],
            totals: used.map(({ requests }) => formats.count(requests)),
          }}
        />
      )
    case 'cost':
      return (
        <StackedBars
          data={{
            ...{ caption: words.dayCaption.cost, steps, tick: formats.moneyTick },
            series: [paid('wallet'), paid('plan')],
            totals: used.map(({ wallet, plan }) => formats.exactMoney(sumMoney(wallet, plan))),
          }}
        />
      )
    case 'tokens':
      return (
        <StackedBars
          data={{
            ...{ caption: words.dayCaption.tokens, steps, tick: formats.short, unit: 'whole' },
            series: [
              counted('uncached', series.uncached, ({ uncached_input, cache_write }) => uncached_input + cache_write),
              counted('cached', series.cached, ({ cached_input }) => cached_input),
              counted('output', series.output, ({ output }) => output),
            ],
            totals: used.map((each) =>
              formats.count(each.uncached_input + each.cached_input + each.cache_write + each.output),
            ),
          }}
        />
      )
  }
}
