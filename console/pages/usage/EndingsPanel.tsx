import type { QueryOf } from '../../../src/contract/console-api.ts'
import { stepLabels } from '../../lib/step-labels.ts'
import { useRefusedTurns } from '../../questions/usage.ts'
import { Answer } from '../../ui/Answer.tsx'
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
  const counted = (id: string, name: string, values: readonly number[]) => ({
    ...{ id, name, values },
    texts: values.map((value) => formats.count(value)),
  })
  const series = [
    counted(
      'well',
      words.well,
      used.map(({ requests, failed }) => requests - failed),
    ),
    counted(
      'failed',
      words.failed,
      used.map(({ failed }) => failed),
    ),
    ...reasons.map(({ code, steps: counts }) =>
      counted(code ?? 'rest', code === null ? words.rest : words.refused(wordFor(words.reasons, code)), counts),
    ),
  ]
  return (
    <StackedBars
      data={{
        ...{ caption: words.caption, series, tick: formats.short, unit: 'whole' },
        steps: stepLabels(steps, step, { locale: formats.locale, zone }),
        totals: steps.map((_, index) =>
          formats.count(series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0)),
        ),
      }}
    />
  )
}
