import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { CircleCheck, SearchX, Waypoints } from 'lucide-react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { useNow } from '../../lib/clock.ts'
import { messageFor, useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useLanes } from '../../queries/operate.ts'
import { useLaneCalls } from '../../queries/reports.ts'
import { buttonClass } from '../../ui/Button.tsx'
import { type Column, DataTable, Paired } from '../../ui/DataTable.tsx'
import { choicesOf, SearchInput, Segmented } from '../../ui/inputs.tsx'
import { Badge, Empty, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Time } from '../../ui/values.tsx'

const SHOWN = ['all', 'trouble'] as const

export function LanesPage() {
  const { shell } = useMessages()
  const { lanes } = useMessages().operator
  const query = useLanes()
  const calls = useLaneCalls()
  const { search = '', show } = useSearch({ strict: false }) as { search?: string; show?: string }
  const navigate = useNavigate()
  const only = show === 'trouble' ? 'trouble' : 'all'
  const want = (change: object) =>
    void navigate({ to: '/operate/lanes', search: { search, show: only, ...change }, replace: true })
  return (
    <Page>
      <PageHeader title={shell.pageTitles.lanes} about={lanes.about} />
      <div className="flex flex-wrap items-center gap-3">
        <SearchInput
          label={lanes.search}
          className="w-full flex-1 sm:max-w-sm max-sm:basis-full"
          value={search}
          onText={(text) => want({ search: text })}
        />
        <Segmented
          label={lanes.show}
          value={only}
          options={choicesOf(SHOWN, lanes.filters)}
          onPick={(value) => want({ show: value === 'all' ? undefined : value })}
        />
      </div>
      {query.data === undefined || query.error !== null ? (
        <Panel>
          <QueryView query={query} lines={8}>
            {() => null}
          </QueryView>
        </Panel>
      ) : null}
      {query.data !== undefined && (
        <Models
          all={query.data.items}
          calls={new Map(calls.data?.items.map((lane) => [lane.lane, lane]))}
          shown={findModels(query.data.items, { search, trouble: only === 'trouble' })}
          asOf={query.dataUpdatedAt}
          searching={search !== ''}
        />
      )}
    </Page>
  )
}

interface ModelsProps {
  readonly all: readonly OperatorModel[]
  readonly shown: readonly OperatorModel[]
  readonly calls: CallsOfLanes
  readonly asOf: number
  readonly searching: boolean
}

function Models({ all, shown, calls, asOf, searching }: ModelsProps) {
  const { lanes } = useMessages().operator
  if (shown.length > 0) return shown.map((model) => <ModelLanes key={model.id} {...{ model, calls, asOf }} />)
  return (
    <Panel>
      {all.length === 0 ? (
        <Empty
          icon={Waypoints}
          title={lanes.none}
          text={lanes.noneText}
          action={
            <Link to="/operate/managed" search={{ add: 'upstream' }} className={buttonClass('primary')}>
              {lanes.add}
            </Link>
          }
        />
      ) : searching ? (
        <Empty icon={SearchX} title={lanes.noneFound} text={lanes.noneFoundText} />
      ) : (
        <Empty icon={CircleCheck} title={lanes.noTrouble} text={lanes.noTroubleText} />
      )}
    </Panel>
  )
}

type Lane = OperatorModel['lanes'][number]

type LaneCalls = AnswerOf<'GET /operate/lanes/calls'>['items'][number]
type CallsOfLanes = ReadonlyMap<string, LaneCalls>

interface ModelLanesProps {
  readonly model: OperatorModel
  readonly calls: CallsOfLanes
  /** When the server sent the state. Countdowns start from here. */
  readonly asOf: number
}

function ModelLanes({ model, calls, asOf }: ModelLanesProps) {
  const { lanes } = useMessages().operator
  const columns = useColumns(asOf, calls)
  return (
    <section className="min-w-0 rounded-xl border border-line bg-surface">
      <header className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1 px-4 py-2.5">
        <h2 className="flex min-w-0 flex-wrap items-center gap-2 font-semibold">
          <span className="break-all">{model.id}</span>
          <StateBadge model={model} />
          <ContextBadge model={model} />
        </h2>
        <div className="flex flex-wrap items-center gap-2 text-sm text-soft">
          <Price model={model} />
          <EstimateError model={model} />
          {model.kinds.map((kind) => (
            <Badge key={kind}>{lanes.kinds[kind]}</Badge>
          ))}
        </div>
      </header>
      {model.lanes.length === 0 ? (
        <p className="border-t border-line px-4 py-2.5 text-bad">{lanes.noLanes}</p>
      ) : (
        <div className="border-t border-line">
          <DataTable caption={model.id} columns={columns} rows={model.lanes} rowId={({ id }) => id} />
        </div>
      )}
    </section>
  )
}

function StateBadge({ model }: { model: OperatorModel }) {
  const { lanes } = useMessages().operator
  const formats = useFormats()
  const state = stateOf(model)
  if (state === 'all-aside') return <Badge tone="bad">{lanes.allUnavailable}</Badge>
  if (state !== 'some-aside') return null
  const aside = model.lanes.filter((lane) => lane.aside !== null).length
  return <Badge tone="held">{formats.plural(aside, lanes.someUnavailable)}</Badge>
}

function ContextBadge({ model: { context_tokens, counted_beyond_context } }: { model: OperatorModel }) {
  const { lanes } = useMessages().operator
  const formats = useFormats()
  if (counted_beyond_context === null) return null
  return (
    <span title={lanes.contextTooSmallText(formats.count(counted_beyond_context), formats.count(context_tokens))}>
      <Badge tone="held">{lanes.contextTooSmall}</Badge>
    </span>
  )
}

function Price({ model: { price_input, price_output } }: { model: OperatorModel }) {
  const { lanes } = useMessages().operator
  const formats = useFormats()
  if (price_input === null || price_output === null) return <span className="text-held">{lanes.noPrice}</span>
  return <span className="figures">{lanes.price(formats.money(price_input), formats.money(price_output))}</span>
}

function EstimateError({ model: { estimate_error } }: { model: OperatorModel }) {
  const { lanes } = useMessages().operator
  const formats = useFormats()
  if (estimate_error === null) return null
  const { median, p90 } = estimate_error
  return (
    <span className="figures" title={lanes.estimateErrorHint}>
      {lanes.estimateError(formats.percent(median), formats.percent(p90))}
    </span>
  )
}

function useColumns(asOf: number, calls: CallsOfLanes): Column<Lane>[] {
  const { lanes } = useMessages().operator
  const formats = useFormats()
  return [
    {
      id: 'lane',
      header: lanes.lane,
      narrow: 'title',
      cell: ({ upstream, upstream_model, wire }) => (
        <div className="max-w-80 min-w-32" title={`${lanes.wire}: ${wire}`}>
          <Paired first={<span className="font-medium">{upstream}</span>} second={upstream_model} />
        </div>
      ),
    },
    { id: 'state', header: lanes.state, cell: (lane) => <LaneState lane={lane} asOf={asOf} /> },
    ...(['hour', 'day'] as const).map((span) => ({
      ...{ id: span, header: lanes.spans[span], align: 'end' as const },
      cell: ({ id }: Lane) => <CallsCell calls={calls.get(id)?.[span]} />,
    })),
    { id: 'error', header: lanes.lastError, cell: ({ id }) => <LastError error={calls.get(id)?.day.last_error} /> },
    { id: 'first', header: lanes.first, align: 'end', cell: ({ first_percent }) => <First percent={first_percent} /> },
    {
      ...{ id: 'priority', header: lanes.order, align: 'end' },
      cell: ({ priority, weight }) => lanes.orderOf(formats.count(priority), formats.count(weight)),
    },
  ]
}

/** The share of calls that succeeded, of how many, and how long they took. */
function CallsCell({ calls }: { calls: LaneCalls['hour'] | undefined }) {
  const { lanes } = useMessages().operator
  const formats = useFormats()
  const count = (calls?.succeeded ?? 0) + (calls?.failed ?? 0)
  if (calls === undefined || count === 0) return <span className="text-faint">–</span>
  const share = calls.succeeded / count
  const time = (ms: number | null) => (ms === null ? '–' : formats.duration(ms))
  return (
    <span title={lanes.callsHint(time(calls.p50), time(calls.p95))}>
      <Paired
        first={
          <>
            <span className={share < 0.9 ? 'text-bad' : share < 1 ? 'text-held' : 'text-good'}>
              {formats.percent(share)}
            </span>{' '}
            <span className="text-faint">{lanes.ofCalls(formats.short(count))}</span>
          </>
        }
        second={`${time(calls.p50)} · ${time(calls.p95)}`}
      />
    </span>
  )
}

function LastError({ error }: { error: LaneCalls['hour']['last_error'] | undefined }) {
  const { operator, receipt } = useMessages()
  if (error === null || error === undefined) return <span className="text-faint">–</span>
  const text = messageFor(receipt.attempts.outcomes, error.error)
  return (
    <Paired
      first={error.status === null ? text : operator.lanes.errorOf(text, String(error.status))}
      second={<Time at={error.at} />}
    />
  )
}

function LaneState({ lane: { aside }, asOf }: { lane: Lane; asOf: number }) {
  const { lanes } = useMessages().operator
  if (aside === null) return <Badge tone="good">{lanes.inUse}</Badge>
  return <OpenLane reason={aside.reason} until={asOf + aside.seconds_left * 1_000} />
}

function OpenLane({ reason, until }: { reason: string; until: number }) {
  const { lanes } = useMessages().operator
  const formats = useFormats()
  const left = Math.max(0, Math.ceil((until - useNow(1_000)) / 1_000)) * 1_000
  if (left === 0) return <Badge tone="held">{lanes.retryDue}</Badge>
  return (
    <Badge tone="held">
      <span className="figures">{lanes.unavailable(messageFor(lanes.reasons, reason), formats.duration(left))}</span>
    </Badge>
  )
}

function First({ percent }: { percent: number }) {
  const { lanes } = useMessages().operator
  const formats = useFormats()
  return (
    <span title={lanes.firstHint} className="inline-flex items-center gap-2">
      <span aria-hidden="true" className="h-1.5 w-16 overflow-hidden rounded-full bg-sunken">
        <span className="block h-full bg-accent" style={{ inlineSize: `${percent}%` }} />
      </span>
      <span className="figures min-w-9 text-end">{formats.percent(percent / 100)}</span>
    </span>
  )
}

export type OperatorModel = AnswerOf<'GET /operate/lanes'>['items'][number]

type ModelState = 'good' | 'some-aside' | 'all-aside' | 'no-lanes'

export function stateOf({ lanes }: OperatorModel): ModelState {
  if (lanes.length === 0) return 'no-lanes'
  if (lanes.every(({ aside }) => aside === null)) return 'good'
  // The time of the open lane has passed, so the next request tries it.
  return lanes.every(({ first_percent }) => first_percent === 0) ? 'all-aside' : 'some-aside'
}

/** Matches the model id and the names of its providers. With `trouble`, keeps only models with issues. */
export function findModels(
  models: readonly OperatorModel[],
  { search, trouble }: { readonly search: string; readonly trouble: boolean },
): readonly OperatorModel[] {
  const terms = search.toLowerCase().split(/\s+/).filter(Boolean)
  return models.filter((model) => {
    if (trouble && stateOf(model) === 'good' && model.counted_beyond_context === null) return false
    const names = [model.id, ...model.lanes.flatMap(({ upstream, upstream_model }) => [upstream, upstream_model])]
    const text = names.join('\n').toLowerCase()
    return terms.every((term) => text.includes(term))
  })
}
