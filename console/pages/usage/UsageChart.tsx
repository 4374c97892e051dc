import type { AnswerOf, QueryOf } from '../../../src/contract/console-api.ts'
import { stepLabels } from '../../lib/time-zones.ts'
import { messageFor, useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useRefusedTurns } from '../../queries/account.ts'
import { countedChart } from '../../ui/charts/chart-data.ts'
import { StackedBars } from '../../ui/charts/StackedBars.tsx'
import { choicesOf, Segmented } from '../../ui/inputs.tsx'
import { Panel } from '../../ui/layout.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import type { Grouping, UsageFilter, UsageRange } from './usage-filter.ts'
import {
  drawn,
  fewReasons,
  fewSeries,
  groupOf,
  type Measure,
  type MeasureGroup,
  MONEY_PARTS,
  TOKEN_PARTS,
  written,
} from './usage-series.ts'

export type UsageAnswer = AnswerOf<'GET /usage'>

interface UsageChartProps {
  readonly answer: UsageAnswer
  readonly filter: UsageFilter
  readonly range: UsageRange
  readonly zone: string
  readonly onChange: (filter: UsageFilter) => void
  readonly onDrill: (id: string) => void
}

export function UsageChart({ answer, filter, range, zone, onChange, onDrill }: UsageChartProps) {
  const { usage } = useMessages()
  const formats = useFormats()
  const nameOf = useSeriesName(filter.by)
  const { measure, by } = filter
  const group = groupOf(measure)
  const series = fewSeries(answer.series).map(({ id, name, steps }) => ({
    ...{ id: id ?? REST, name: nameOf({ id, name }) },
    values: steps.map((used) => drawn(used, measure)),
    texts: steps.map((used) => written(used, measure, formats)),
  }))
  return (
    <Panel title={usage.chart} about={usage.drill}>
      <div className="grid gap-3">
        <MeasureSwitch measure={measure} onPick={(picked) => onChange({ ...filter, measure: picked })} />
        <StackedBars
          data={{
            caption: usage.caption(usage.measures[group], usage.bys[by]),
            steps: stepLabels(answer.steps, range.step, { locale: formats.locale, zone }),
            series,
            totals: answer.total_steps.map((used) => written(used, measure, formats)),
            tick: group === 'money' ? formats.moneyTick : formats.short,
            unit: group === 'money' ? 'any' : 'whole',
          }}
          whole={begun(answer).map((used) => drawn(used, measure))}
          onPick={(id) => {
            if (id !== REST) onDrill(id)
          }}
        />
        <p className="text-xs text-faint" title={formats.utc(answer.as_of)}>
          {usage.asOf(formats.precise(answer.as_of))}
        </p>
      </div>
    </Panel>
  )
}

/** The line ends at the current step. */
const begun = ({ total_steps, steps, as_of }: UsageAnswer) => total_steps.filter((_, step) => steps[step]! <= as_of)

/** An id that no model or key has. */
const REST = ' rest'

const GROUPS: readonly MeasureGroup[] = ['money', 'requests', 'tokens', 'failed']

interface MeasureSwitchProps {
  readonly measure: Measure
  readonly onPick: (measure: Measure) => void
}

function MeasureSwitch({ measure, onPick }: MeasureSwitchProps) {
  const { usage } = useMessages()
  const group = groupOf(measure)
  return (
    <div className="flex flex-wrap gap-x-4 gap-y-2">
      <Segmented label={usage.measure} value={group} options={choicesOf(GROUPS, usage.measures)} onPick={onPick} />
      {group === 'money' && (
        <Segmented
          label={usage.moneyParts}
          value={MONEY_PARTS.find((part) => part === measure) ?? 'money'}
          options={choicesOf(MONEY_PARTS, usage.moneyPart)}
          onPick={onPick}
        />
      )}
      {group === 'tokens' && (
        <Segmented
          label={usage.tokenParts}
          value={TOKEN_PARTS.find((part) => part === measure) ?? 'tokens'}
          options={choicesOf(TOKEN_PARTS, usage.tokenPart)}
          onPick={onPick}
        />
      )}
    </div>
  )
}

interface Named {
  readonly id: string | null
  readonly name: string
}

export function useSeriesName(by: Grouping): (series: Named) => string {
  const { usage } = useMessages()
  return ({ id, name }) => {
    if (id === null) return usage.rest
    if (id === 'none' && (by === 'person' || by === 'team' || by === 'tag')) return usage.without[by]
    if (by === 'tag' && id.endsWith(':')) return usage.rest
    return by === 'kind' && (id === 'wallet' || id === 'builder') ? usage.kinds[id] : name
  }
}

interface EndingsPanelProps {
  readonly answer: UsageAnswer
  readonly range: QueryOf<'GET /usage/refused'>
  /** The model of a refused request is unknown, so refusals are left out when a model is selected. */
  readonly refusals: 'shown' | 'left-out'
}

export function EndingsPanel({ answer, range, refusals }: EndingsPanelProps) {
  const { endings: messages } = useMessages().usage
  const query = useRefusedTurns(range)
  const isNothing = answer.total.requests === 0 && (refusals === 'left-out' || query.data?.reasons.length === 0)
  if (isNothing) return null
  const isShown = refusals === 'shown' && !query.isPlaceholderData
  return (
    <Panel title={messages.title} about={refusals === 'shown' ? messages.about : messages.aboutModel}>
      <QueryView query={query}>
        {({ steps, reasons }) => (
          <EndingsChart
            answer={answer}
            step={range.step}
            zone={range.zone}
            // While the filters change, the two responses can be for different filters.
            reasons={isShown && steps.join() === answer.steps.join() ? fewReasons(reasons) : []}
          />
        )}
      </QueryView>
    </Panel>
  )
}

interface EndingsChartProps extends Pick<EndingsPanelProps, 'answer'> {
  readonly step: EndingsPanelProps['range']['step']
  readonly zone: string
  readonly reasons: ReturnType<typeof fewReasons>
}

function EndingsChart({ answer: { steps, total_steps: used }, step, zone, reasons }: EndingsChartProps) {
  const { endings: messages } = useMessages().usage
  const formats = useFormats()
  const series = [
    { id: 'well', name: messages.well, values: used.map(({ requests, failed }) => requests - failed) },
    { id: 'failed', name: messages.failed, values: used.map(({ failed }) => failed) },
    ...reasons.map(({ code, steps: values }) => ({
      id: code ?? 'rest',
      name: code === null ? messages.rest : messages.refused(messageFor(messages.reasons, code)),
      values,
    })),
  ]
  const labels = stepLabels(steps, step, { locale: formats.locale, zone })
  return <StackedBars data={countedChart({ caption: messages.caption, steps: labels, series }, formats)} />
}
