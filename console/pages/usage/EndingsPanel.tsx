import type { QueryOf } from '../../../src/contract/console-api.ts'
import { stepLabels } from '../../lib/step-labels.ts'
import { useRefusedTurns } from '../../questions/usage.ts'
import { Answer } from '../../ui/Answer.tsx'
import { countedChart } from '../../ui/charts/chart-data.ts'
import { StackedBars } from '../../ui/charts/StackedBars.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import { wordFor } from '../../words/word-for.ts'
import { fewReasons } from './few-series.ts'
import type { UsageAnswer } from './UsageChart.tsx'

interface EndingsPanelProps {
  readonly answer: UsageAnswer
  readonly query: QueryOf<'GET /usage/refused'>
  /** Which model a refused request was for is not known: where one is chosen, they are left out. */
  readonly refusals: 'shown' | 'left-out'
}

/** Every request by how it ended: those that were run, and those that were refused before that, by the reason. */
export function EndingsPanel({ answer, query, refusals }: EndingsPanelProps) {
  const { endings: words } = useWords().usage
  const question = useRefusedTurns(query)
  const isNothing = answer.total.requests === 0 && (refusals === 'left-out' || question.data?.reasons.length === 0)
  if (isNothing) return null
  const isShown = refusals === 'shown' && !question.isPlaceholderData
  return (
    <Panel title={words.title} about={refusals === 'shown' ? words.about : words.aboutModel}>
      <Answer question={question}>
        {({ steps, reasons }) => (
          <EndingsChart
            answer={answer}
            step={query.step}
            zone={query.zone}
            // While another range, key or kind is on its way, the two answers may be of different ones.
            reasons={isShown && steps.join() === answer.steps.join() ? fewReasons(reasons) : []}
          />
        )}
      </Answer>
    </Panel>
  )
}

interface EndingsChartProps extends Pick<EndingsPanelProps, 'answer'> {
  readonly step: EndingsPanelProps['query']['step']
  readonly zone: string
  readonly reasons: ReturnType<typeof fewReasons>
}

function EndingsChart({ answer: { steps, total_steps: used }, step, zone, reasons }: EndingsChartProps) {
  const { endings: words } = useWords().usage
  const formats = useFormats()
  const series = [
    { id: 'well', name: words.well, values: used.map(({ requests, failed }) => requests - failed) },
    { id: 'failed', name: words.failed, values: used.map(({ failed }) => failed) },
    ...reasons.map(({ code, steps: values }) => ({
      id: code ?? 'rest',
      name: code === null ? words.rest : words.refused(wordFor(words.reasons, code)),
      values,
    })),
  ]
  const labels = stepLabels(steps, step, { locale: formats.locale, zone })
  return <StackedBars data={countedChart({ caption: words.caption, steps: labels, series }, formats)} />
}
