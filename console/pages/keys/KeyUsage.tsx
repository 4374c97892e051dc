import { ChartColumn } from 'lucide-react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import type { Formats } from '../../lib/formats.ts'
import { nanoOf, sumMoney } from '../../lib/money.ts'
import { useKeyUsage } from '../../questions/usage.ts'
import { Answer } from '../../ui/Answer.tsx'
import { StackedBars } from '../../ui/charts/StackedBars.tsx'
import type { ChartData } from '../../ui/charts/series.ts'
import { Empty } from '../../ui/Empty.tsx'
import { Money } from '../../ui/Money.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'

interface KeyUsageProps {
  readonly keyId: string
  /** It is revoked: what is not there will not come. */
  readonly isOver: boolean
}

/** What one key has cost, day by day. */
export function KeyUsage({ keyId, isOver }: KeyUsageProps) {
  const { keys } = useWords()
  const formats = useFormats()
  const question = useKeyUsage(keyId, formats.zone)
  const total = question.data?.total
  const sum = total !== undefined && total.requests > 0 && (
    <p className="figures text-sm text-soft">
      <Money amount={paidFor(total)} /> · {formats.plural(total.requests, keys.requestCount)}
    </p>
  )
  return (
    <Panel title={keys.usage} about={keys.usageAbout} actions={sum}>
      <Answer question={question} lines={6}>
        {(usage) =>
          usage.total.requests === 0 ? (
            <Empty icon={ChartColumn} title={keys.noUsage} {...(!isOver && { text: keys.noUsageText })} />
          ) : (
            <StackedBars
              data={keyUsageChart(usage, formats, {
                caption: `${keys.usage}. ${keys.usageAbout}`,
                rest: keys.otherModels,
              })}
            />
          )
        }
      </Answer>
    </Panel>
  )
}

type Usage = AnswerOf<'GET /usage'>
type Used = Usage['total']

/** Whoever paid: for one key only one of the two ever does. */
const paidFor = ({ wallet, plan }: Pick<Used, 'wallet' | 'plan'>): string => sumMoney(wallet, plan)

const NANO_PER_USD = 1e9
/** For the length of a bar; what is read comes from the exact text. */
const lengthOf = (amount: string): number => Number(nanoOf(amount)) / NANO_PER_USD

/** Usage of a key as bars: a day each, stacked by model. */
function keyUsageChart(usage: Usage, formats: Formats, words: { caption: string; rest: string }): ChartData {
  const textOf = (used: Used) => formats.exactMoney(paidFor(used))
  return {
    caption: words.caption,
    steps: usage.steps.map((step) => ({ id: step, short: formats.shortDay(step), long: formats.day(step) })),
    series: usage.series.map(({ id, name, steps }) => ({
      id: id ?? 'rest',
      name: id === null ? words.rest : name,
      values: steps.map((used) => lengthOf(paidFor(used))),
      texts: steps.map(textOf),
    })),
    totals: usage.total_steps.map(textOf),
    tick: (value) => formats.money(value.toFixed(9)),
  }
}
