import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { ChartColumn, Download } from 'lucide-react'
import { now } from '../../lib/clock.ts'
import { dayIn } from '../../lib/time-zones.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useUsage } from '../../queries/account.ts'
import { useDownload } from '../../queries/mutations.ts'
import { useMay } from '../../queries/session.ts'
import { Button, buttonClass } from '../../ui/Button.tsx'
import { Empty, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { EndingsPanel, UsageChart } from './UsageChart.tsx'
import { UsageChips, UsageControls } from './UsageControls.tsx'
import { UsageTable, UsageTotals } from './UsageTable.tsx'
import {
  drillInto,
  groupBy,
  isNarrowed,
  queriedBy,
  readUsageFilter,
  type UsageFilter,
  usageRange,
  widerThan,
  writeUsageFilter,
} from './usage-filter.ts'
import { isNothing } from './usage-series.ts'

/** The whole state is part of the address so that it can be shared. */
export function UsagePage() {
  const { shell, usage } = useMessages()
  const formats = useFormats()
  const navigate = useNavigate()
  const read = readUsageFilter(useSearch({ strict: false }))
  const filter = groupBy(read, read.by)
  const zone = filter.zone ?? formats.zone
  const range = usageRange(filter, dayIn(zone, now()))
  const { by, model, key, kind } = filter
  const days = {
    ...{ from: range.from, to: range.to, zone, step: range.step },
    ...(key !== undefined && { key }),
    ...(kind !== undefined && { kind }),
  }
  const search = { ...days, by: queriedBy(filter), ...(model !== undefined && { model }) }
  const query = useUsage(search)
  const download = useDownload('GET /usage.csv')
  const change = (next: UsageFilter) =>
    void navigate({ to: '/usage', search: writeUsageFilter(next), resetScroll: false })
  const may = useMay()
  const drill = (id: string) => {
    const deeper = drillInto(filter, id)
    if (deeper !== undefined) return change(deeper)
    // A series of a tag is a filter of requests; `none` and the others of a name are not.
    const run = by === 'tag' ? /^run:(.+)/.exec(id)?.[1] : undefined
    if (run !== undefined) return void navigate({ to: '/runs/$run', params: { run } })
    if (by === 'tag' && /:./.test(id)) void navigate({ to: '/requests', search: { tag: id } })
    if (by === 'team' && id !== 'none' && may('viewer')) void navigate({ to: '/teams/$team', params: { team: id } })
    if (by === 'person' && id !== 'none' && may('viewer'))
      void navigate({ to: '/members/$person', params: { person: id } })
  }

  return (
    <Page>
      <PageHeader
        title={shell.pageTitles.usage}
        about={usage.about}
        actions={
          <Button busy={download.isPending} onClick={() => download.mutate(search)}>
            <Download aria-hidden="true" />
            {usage.csv}
          </Button>
        }
      />
      <UsageControls filter={filter} range={range} zone={zone} onChange={change} />
      <UsageChips filter={filter} onChange={change} />
      <QueryView query={query} lines={12}>
        {(answer) => (
          <div className={query.isPlaceholderData ? 'grid gap-5 opacity-60' : 'grid gap-5'}>
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
            <EndingsPanel answer={answer} range={days} refusals={model === undefined ? 'shown' : 'left-out'} />
          </div>
        )}
      </QueryView>
    </Page>
  )
}

interface NoUsageProps {
  readonly filter: UsageFilter
  readonly onChange: (filter: UsageFilter) => void
}

/** Offers a wider range, then no filters, then a client to connect. */
function NoUsage({ filter, onChange }: NoUsageProps) {
  const { usage } = useMessages()
  const { empty } = usage
  const may = useMay()
  const wider = widerThan(filter.range)
  const narrowed = isNarrowed(filter)
  return (
    <Empty
      icon={ChartColumn}
      title={empty.title}
      text={narrowed ? empty.filteredText : empty.text}
      action={
        wider !== undefined ? (
          <Button tone="primary" onClick={() => onChange({ ...filter, range: wider, step: undefined })}>
            {empty.widen(usage.ranges[wider])}
          </Button>
        ) : narrowed ? (
          <Button onClick={() => onChange({ ...filter, model: undefined, key: undefined, kind: undefined })}>
            {empty.clear}
          </Button>
        ) : (
          may('member') && (
            <Link to="/connect" className={buttonClass('primary')}>
              {empty.connect}
            </Link>
          )
        )
      }
    />
  )
}
