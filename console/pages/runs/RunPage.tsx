import { Link, useParams } from '@tanstack/react-router'
import { ArrowLeftRight, SearchX } from 'lucide-react'
import { asProblem } from '../../lib/console-problem.ts'
import { decimalOf, nanoOf } from '../../lib/money.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { itemsOf } from '../../queries/query.ts'
import { useRequestPages } from '../../queries/requests.ts'
import { type Run, useRun } from '../../queries/runs.ts'
import { buttonClass } from '../../ui/Button.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { Badge, Empty, Page, PageHeader, Panel, StatRow, StatTile } from '../../ui/layout.tsx'
import { QueryView, ShowMore } from '../../ui/QueryView.tsx'
import { Meter, Money, MoneyText, TimeText, Tokens } from '../../ui/values.tsx'
import { RequestTable } from '../requests/RequestTable.tsx'

/** A run: what it may use, what it and the runs inside it have used, and its requests. */
export function RunPage() {
  const { runs } = useMessages()
  const { run: id = '' } = useParams({ strict: false })
  const query = useRun(id)
  const isMissing = query.error !== null && asProblem(query.error).status === 404
  return (
    <Page>
      <PageHeader
        title={id}
        about={<Path parent={query.data?.parent ?? null} />}
        actions={<CopyButton text={id} label={runs.copyId} look="button" />}
      />
      {isMissing ? (
        <Panel>
          <Empty
            icon={SearchX}
            title={runs.missing}
            text={runs.missingText}
            action={
              <Link to="/runs" className={buttonClass('primary')}>
                {runs.title}
              </Link>
            }
          />
        </Panel>
      ) : (
        <QueryView query={query} lines={8}>
          {(run) => (
            <>
              <RunFigures run={run} />
              {run.runs.length > 0 && <TreePanel run={run} />}
              <RequestsPanel id={id} isOpen={run.state === 'open'} />
            </>
          )}
        </QueryView>
      )}
    </Page>
  )
}

function Path({ parent }: { parent: string | null }) {
  const { runs } = useMessages()
  return (
    <>
      <Link to="/runs" className="hover:text-ink hover:underline">
        {runs.title}
      </Link>
      {parent !== null && (
        <>
          {' / '}
          <Link to="/runs/$run" params={{ run: parent }} className="break-all hover:text-ink hover:underline">
            {parent}
          </Link>
        </>
      )}
    </>
  )
}

function RunFigures({ run }: { run: Run }) {
  const { runs } = useMessages()
  const { state, ends_at, budget, used, remaining } = run
  return (
    <StatRow>
      <StatTile
        label={runs.cost}
        value={<Money amount={used.cost} />}
        note={budget.cost === null ? runs.noBudget : <MoneyText message={runs.of} amounts={[budget.cost]} />}
      >
        <Left label={runs.cost} limit={budget.cost} used={used.cost} left={remaining.cost} as="money" />
      </StatTile>
      {(['requests', 'tokens'] as const).map((name) => (
        <CountTile key={name} name={name} run={run} />
      ))}
      <StatTile
        label={runs.columns.state}
        value={<Badge tone={state === 'open' ? 'good' : 'plain'}>{runs.states[state]}</Badge>}
        note={<TimeText message={state === 'open' ? runs.ends : runs.ended} at={ends_at} />}
      />
    </StatRow>
  )
}

function CountTile({ name, run: { budget, used, remaining } }: { name: 'requests' | 'tokens'; run: Run }) {
  const { runs } = useMessages()
  const formats = useFormats()
  const limit = budget[name]
  return (
    <StatTile
      label={runs[name]}
      value={<Tokens count={used[name]} />}
      note={limit === null ? runs.noBudget : runs.of(formats.count(limit))}
    >
      <Left
        label={runs[name]}
        limit={limit === null ? null : String(limit)}
        used={String(used[name])}
        left={remaining[name] === null ? null : String(remaining[name])}
        as="count"
      />
    </StatTile>
  )
}

interface LeftProps {
  readonly label: string
  readonly limit: string | null
  readonly used: string
  readonly left: string | null
  readonly as: 'money' | 'count'
}

/** What running requests hold is neither used nor left. */
function Left({ label, limit, used, left, as }: LeftProps) {
  const { runs } = useMessages()
  const formats = useFormats()
  if (limit === null || left === null) return null
  const held = nanoOf(limit) - nanoOf(used) - nanoOf(left)
  return (
    <div className="mt-1 grid gap-1">
      <Meter {...{ label, used, limit, left, as }} held={held > 0n ? decimalOf(held) : '0.00'} />
      <span className="figures text-xs text-faint">
        {as === 'money' ? <MoneyText message={runs.left} amounts={[left]} /> : runs.left(formats.count(Number(left)))}
      </span>
    </div>
  )
}

function TreePanel({ run }: { run: Run }) {
  const { runs } = useMessages()
  return (
    <Panel title={runs.tree} about={runs.treeAbout}>
      {!run.all_listed && <p className="mb-2 text-sm text-held">{runs.notAll}</p>}
      <Branch runs={run.runs} />
    </Panel>
  )
}

function Branch({ runs: inside }: { runs: readonly Run['runs'][number][] }) {
  const { runs } = useMessages()
  const formats = useFormats()
  return (
    <ul className="grid gap-1 border-line not-first:ms-2 not-first:border-s not-first:ps-3">
      {inside.map((run) => (
        <li key={run.id} className="grid min-w-0 gap-1">
          <div className="flex flex-wrap items-baseline justify-between gap-x-4 text-sm">
            <Link to="/runs/$run" params={{ run: run.id }} className="min-w-0 break-all text-accent hover:underline">
              {run.id}
            </Link>
            <span className="figures text-soft">
              <Money amount={run.used.cost} />{' '}
              {run.budget.cost !== null && <MoneyText message={runs.of} amounts={[run.budget.cost]} />}
              {` · ${formats.plural(run.used.requests, runs.requestCount)}`}
            </span>
          </div>
          {run.runs.length > 0 && <Branch runs={run.runs} />}
        </li>
      ))}
    </ul>
  )
}

function RequestsPanel({ id, isOpen }: { id: string; isOpen: boolean }) {
  const { runs } = useMessages()
  const query = useRequestPages({ tag: `run:${id}` }, isOpen)
  return (
    <Panel title={runs.own} padding="flush">
      <QueryView query={query} lines={6}>
        {(data) => {
          const rows = itemsOf(data)
          return rows.length === 0 ? (
            <Empty icon={ArrowLeftRight} title={runs.ownNone} text={runs.ownNoneText} />
          ) : (
            <RequestTable caption={runs.own} rows={rows} />
          )
        }}
      </QueryView>
      <ShowMore query={query} />
    </Panel>
  )
}
