import { Link, useNavigate } from '@tanstack/react-router'
import { ArrowLeftRight } from 'lucide-react'
import type { ReactNode } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { useNow } from '../../lib/clock.ts'
import type { Catalogue } from '../../messages/catalogue.ts'
import { messageFor, useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { type Column, DataTable, Paired } from '../../ui/DataTable.tsx'
import { Badge, type BadgeTone, Empty } from '../../ui/layout.tsx'
import { READ, useHeldRows } from '../../ui/useHeldRows.ts'
import { inputTokens, Money, Time } from '../../ui/values.tsx'
import { inOpeningOrder } from './merge-requests.ts'

interface RequestTableProps {
  readonly caption: string
  readonly rows: readonly RequestItem[]
  /** Columns to leave out. */
  readonly without?: readonly RequestColumn[]
  readonly digits?: 'column' | 'exact'
}

export function RequestTable({ caption, rows, without = [], digits = 'column' }: RequestTableProps) {
  const navigate = useNavigate()
  const columns = useRequestColumns(digits)
  return (
    <div {...READ}>
      <DataTable
        caption={caption}
        columns={columns.filter(({ id }) => !without.includes(id))}
        rows={rows}
        rowId={({ id }) => id}
        onOpen={({ id }) => void navigate({ to: '/requests/$request', params: { request: id } })}
      />
    </div>
  )
}

type RequestColumn = 'request' | 'model' | 'key' | 'state' | 'tokens' | 'timing' | 'cost'

function useRequestColumns(digits: 'column' | 'exact'): (Column<RequestItem> & { id: RequestColumn })[] {
  const { columns: messages, noLane, noLaneEver } = useMessages().requests
  const outcomeOf = useOutcome()
  return [
    { id: 'request', header: messages.request, narrow: 'title', cell: (request) => <Identity request={request} /> },
    {
      id: 'model',
      header: messages.model,
      cell: ({ model, lane, state }) => (
        <div className="max-w-40 max-md:ms-auto" title={[model, lane].filter(Boolean).join('\n')}>
          <Paired
            first={model}
            second={lane ?? (state === 'open' ? noLane : noLaneEver)}
            secondFrom={lane === null ? 0 : 1536}
          />
        </div>
      ),
    },
    {
      id: 'key',
      header: messages.key,
      cell: ({ key }) => (
        <Link
          to="/keys/$key"
          params={{ key: key.id }}
          title={key.name}
          className="block w-fit max-w-28 truncate hover:text-accent hover:underline max-md:ms-auto max-md:max-w-full"
        >
          {key.name}
        </Link>
      ),
    },
    {
      id: 'state',
      header: messages.state,
      narrow: 'corner',
      cell: (request) => {
        const { label, tone, text } = outcomeOf(request)
        return (
          <span title={text}>
            <Badge tone={tone}>{label}</Badge>
          </span>
        )
      },
    },
    { id: 'tokens', header: messages.tokens, align: 'end', cell: (request) => <TokensCell request={request} /> },
    { id: 'timing', header: messages.timing, align: 'end', cell: (request) => <TimingCell request={request} /> },
    {
      id: 'cost',
      header: messages.cost,
      align: 'end',
      cell: (request) => <CostCell request={request} digits={digits} />,
    },
  ]
}

/** The charge of a released hold. */
const NOTHING = '0.00'

const SHOWN_OF_ID = 8

const Identity = ({ request: { id, opened_at } }: { request: RequestItem }) => (
  <Paired
    first={
      <Link to="/requests/$request" params={{ request: id }} title={id} className="hover:text-accent hover:underline">
        <code>{id.length > SHOWN_OF_ID + 4 ? `…${id.slice(-SHOWN_OF_ID)}` : id}</code>
      </Link>
    }
    second={<Time at={opened_at} />}
  />
)

function TokensCell({ request: { tokens } }: { request: RequestItem }) {
  const { requests } = useMessages()
  const formats = useFormats()
  if (tokens === null) return <span className="text-faint">–</span>
  const input = inputTokens(tokens)
  const notes = [
    ...(tokens.cached_input > 0 ? [requests.cached(formats.short(tokens.cached_input))] : []),
    ...(tokens.estimated ? [requests.estimated] : []),
  ]
  return (
    <span
      className="whitespace-nowrap"
      title={[requests.inOut(formats.count(input), formats.count(tokens.output)), ...notes].join('\n')}
    >
      {requests.inOut(formats.short(input), formats.short(tokens.output))}
    </span>
  )
}

function TimingCell({ request: { first_byte_ms, total_ms, opened_at } }: { request: RequestItem }) {
  const formats = useFormats()
  return (
    <Paired
      first={first_byte_ms === null ? '–' : formats.duration(first_byte_ms)}
      second={total_ms === null ? <RunningFor since={opened_at} /> : formats.duration(total_ms)}
      secondFrom={first_byte_ms === null ? 0 : 1440}
    />
  )
}

interface CostCellProps {
  readonly request: RequestItem
  readonly digits: 'column' | 'exact'
}

function CostCell({ request: { state, charge, hold, kind }, digits }: CostCellProps) {
  const { requests } = useMessages()
  const payer = kind === 'wallet' ? requests.byWallet : requests.byPlan
  const [amount, note] = state === 'open' ? [hold, `${requests.heldNow} · ${payer}`] : [charge ?? NOTHING, payer]
  return (
    <span className="whitespace-nowrap">
      <Money amount={amount} as={state === 'open' ? 'held' : 'plain'} digits={digits} />
      <span className="text-xs text-faint md:max-2xl:sr-only"> {note}</span>
    </span>
  )
}

interface LatestRequestsProps {
  readonly caption: string
  readonly requests: readonly RequestItem[]
  readonly without?: readonly RequestColumn[]
  readonly none: { readonly title: string; readonly text?: string; readonly action?: ReactNode }
}

/** The last few requests, live. */
export function LatestRequests({ caption, requests, none, ...rest }: LatestRequestsProps) {
  // Sorted by start, so that rows keep their place when requests end.
  const { shown, reading } = useHeldRows(inOpeningOrder(requests), { idOf: ({ id }) => id })
  if (requests.length === 0) return <Empty icon={ArrowLeftRight} {...none} />
  return (
    <div {...reading}>
      <RequestTable caption={caption} rows={shown} {...rest} />
    </div>
  )
}

type RequestItem = AnswerOf<'GET /requests'>['items'][number]

interface Outcome {
  readonly label: string
  readonly tone: BadgeTone
  readonly text: string
}

const TONES: Readonly<Record<string, BadgeTone>> = {
  completed: 'good',
  client_gone: 'held',
  drained: 'held',
  recovered: 'held',
}

/** Unknown outcomes are shown as the server spells them. */
export function useOutcome(): (request: Ended) => Outcome {
  const { requests } = useMessages()
  return (request) => {
    const { state, outcome } = request
    if (state === 'open' || outcome === null) {
      return { label: requests.running, tone: 'accent', text: requests.runningText }
    }
    return {
      label: messageFor(requests.outcomes, outcome),
      tone: TONES[outcome] ?? 'bad',
      text: textOf(requests, request, outcome),
    }
  }
}

type Ended = Pick<RequestItem, 'state' | 'outcome' | 'kind' | 'tokens'>

/** One sentence each for what happened, what is charged and who counted. */
function textOf(messages: Catalogue['requests'], { state, kind, tokens }: Ended, outcome: string): string {
  if (state === 'released') return sentences(messageFor(messages.free, outcome, ''), messages.nothingOwed)
  const owed = messages.owed[kind][outcome === 'completed' ? 'whole' : 'part']
  const counted = tokens === null ? '' : tokens.estimated ? messages.estimatedText : messages.countedText
  return sentences(messageFor(messages.happened, outcome, ''), owed, counted)
}

const sentences = (...each: string[]): string => each.filter((sentence) => sentence !== '').join(' ')

/** The running time, updated every second. */
export function RunningFor({ since }: { since: string }) {
  const formats = useFormats()
  // Rounded up, so that clock skew never gives zero.
  const seconds = Math.ceil((useNow(1_000) - Date.parse(since)) / 1_000)
  return formats.duration(Math.max(1, seconds) * 1_000)
}
