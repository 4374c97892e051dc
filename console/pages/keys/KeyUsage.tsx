import { ChartColumn } from 'lucide-react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { sumMoney } from '../../lib/money.ts'
import { stepLabels } from '../../lib/step-labels.ts'
import { useKeyUsage } from '../../queries/usage.ts'
import { QueryView } from '../../ui/QueryView.tsx'
import { paidChart } from '../../ui/charts/chart-data.ts'
import { StackedBars } from '../../ui/charts/StackedBars.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Money } from '../../ui/Money.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'

interface KeyUsageProps {
  readonly keyId: string
  /** It is revoked: what is not there will not come. */
  readonly isOver: boolean
}

/** What one key has cost, day by day. */
export function KeyUsage({ keyId, isOver }: KeyUsageProps) {
  const { keys } = useMessages()
  const formats = useFormats()
  const query = useKeyUsage(keyId, formats.zone)
  const total = query.data?.total
  const sum = total !== undefined && total.requests > 0 && (
    <p className="figures text-sm text-soft">
      <Money amount={paidFor(total)} /> · {formats.plural(total.requests, keys.requestCount)}
    </p>
  )
  return (
    <Panel title={keys.usage} about={keys.usageAbout} actions={sum}>
      <QueryView query={query} lines={6}>
        {(usage) =>
          usage.total.requests === 0 ? (
            <Empty icon={ChartColumn} title={keys.noUsage} {...(!isOver && { text: keys.noUsageText })} />
          ) : (
            <DailyCost usage={usage} />
          )
        }
      </QueryView>
    </Panel>
  )
}

type Usage = AnswerOf<'GET /usage'>

/** Whoever paid: for one key only one of the two ever does. */
const paidFor = ({ wallet, plan }: Pick<Usage['total'], 'wallet' | 'plan'>): string => sumMoney(wallet, plan)

/** A day each, stacked by model. */
function DailyCost({ usage }: { usage: Usage }) {
  const { keys } = useMessages()
  const formats = useFormats()
  const series = usage.series.map(({ id, name, steps }) => ({
    id: id ?? 'rest',
    name: id === null ? keys.otherModels : name,
    amounts: steps.map(paidFor),
  }))
  const drawn = { caption: `${keys.usage}. ${keys.usageAbout}`, steps: stepLabels(usage.steps, 'day', formats) }
  return <StackedBars data={paidChart({ ...drawn, series }, formats)} />
}
