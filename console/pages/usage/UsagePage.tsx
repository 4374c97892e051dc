import { useNavigate, useSearch } from '@tanstack/react-router'
import { Download } from 'lucide-react'
import { now } from '../../lib/clock.ts'
import { fileAddress } from '../../lib/route-address.ts'
import { dayIn } from '../../lib/zone-days.ts'
import { useUsage } from '../../questions/useUsage.ts'
import { buttonClass } from '../../ui/Button.tsx'
import { Page } from '../../ui/Page.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { Answer, Panel } from '../../ui/Panel.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import { EndingsPanel } from './EndingsPanel.tsx'
import { NoUsage } from './NoUsage.tsx'
import { UsageChart } from './UsageChart.tsx'
import { UsageChips } from './UsageChips.tsx'
import { UsageControls } from './UsageControls.tsx'
import { UsageTable } from './UsageTable.tsx'
import { UsageTotals } from './UsageTotals.tsx'
import { drillInto, readUsageFilter, type UsageFilter, writeUsageFilter } from './usage-filter.ts'
import { isNothing } from './usage-measure.ts'
import { usageRange } from './usage-range.ts'

/** What was used, from all of it down to one key on one model. Its address says everything, so that it can be sent on. */
export function UsagePage() {
  const { shell, usage } = useWords()
  const formats = useFormats()
  const navigate = useNavigate()
  const filter = readUsageFilter(useSearch({ strict: false }))
  const zone = filter.zone ?? formats.zone
  const range = usageRange(filter, dayIn(zone, now()))
  const { by, model, key, kind } = filter
  const days = {
    ...{ from: range.from, to: range.to, zone, step: range.step },
    ...(key !== undefined && { key }),
    ...(kind !== undefined && { kind }),
  }
  const query = { ...days, by, ...(model !== undefined && { model }) }
  const question = useUsage(query)
  const change = (next: UsageFilter) =>
    void navigate({ to: '/usage', search: writeUsageFilter(next), resetScroll: false })
  const drill = (id: string) => change(drillInto(filter, id))

  return (
    <Page>
      <PageHeader
        title={shell.areas.usage}
        about={usage.about}
        actions={
          <a href={fileAddress('GET /usage.csv', query)} download className={buttonClass('plain')}>
            <Download aria-hidden="true" />
            {usage.csv}
          </a>
        }
      />
      <UsageControls filter={filter} range={range} zone={zone} onChange={change} />
      <UsageChips filter={filter} onChange={change} />
      <Answer question={question} lines={12}>
        {(answer) => (
          <div className={question.isPlaceholderData ? 'grid gap-5 opacity-60' : 'grid gap-5'}>
            {isNothing(answer.total) ? (
              <Panel>
                <NoUsage filter={filter} onChange={change} />
              </Panel>
            ) : (
              <>
                <UsageTotals total={answer.total} />
                <UsageChart {...{ answer, filter, range, zone }} onChange={change} onDrill={drill} />
                <UsageTable answer={answer} by={by} onDrill={drill} />
              </>
            )}
            <EndingsPanel answer={answer} query={days} refusals={model === undefined ? 'shown' : 'left-out'} />
          </div>
        )}
      </Answer>
    </Page>
  )
}
