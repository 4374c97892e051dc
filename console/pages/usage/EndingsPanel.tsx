import type { QueryOf } from '../../../src/contract/console-api.ts'
import { stepLabels } from '../../lib/step-labels.ts'
import { useRefusedTurns } from '../../queries/usage.ts'
import { QueryView } from '../../ui/QueryView.tsx'
import { countedChart } from '../../ui/charts/chart-data.ts'
import { StackedBars } from '../../ui/charts/StackedBars.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { messageFor } from '../../messages/message-for.ts'
import { fewReasons } from './few-series.ts'
import type { UsageAnswer } from './UsageChart.tsx'

interface EndingsPanelProps {
  readonly answer: UsageAnswer
  readonly range: QueryOf<'GET /usage/refused'>
  /** Which model a refused request was for is not known: where one is chosen, they are left out. */
  readonly refusals: 'shown' | 'left-out'
}

/** Every request by how it ended: those that were run, and those that were refused before that, by the reason. */
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
            // While another range, key or kind is on its way, the two answers may be of different ones.
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
