import { ChartColumn } from 'lucide-react'
import { useKeyUsage } from '../../questions/useKeyUsage.ts'
import { StackedBars } from '../../ui/charts/StackedBars.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Money } from '../../ui/Money.tsx'
import { Answer, Panel } from '../../ui/Panel.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import { keyUsageChart, paidFor } from './key-usage-chart.ts'

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
