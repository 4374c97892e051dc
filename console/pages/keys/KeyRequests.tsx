import { Link, useNavigate } from '@tanstack/react-router'
import { ArrowLeftRight } from 'lucide-react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { useKeyRequests } from '../../questions/useKeyRequests.ts'
import { Badge } from '../../ui/Badge.tsx'
import { buttonClass } from '../../ui/Button.tsx'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Money } from '../../ui/Money.tsx'
import { Answer, Panel } from '../../ui/Panel.tsx'
import { Time } from '../../ui/Time.tsx'
import { Tokens } from '../../ui/Tokens.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'

type Item = AnswerOf<'GET /requests'>['items'][number]

const SHOWN = 10

interface KeyRequestsProps {
  readonly keyId: string
  /** It is revoked: no first one will arrive. */
  readonly isOver: boolean
}

/** The last few requests of a key, as they come in. */
export function KeyRequests({ keyId, isOver }: KeyRequestsProps) {
  const { keys } = useWords()
  const navigate = useNavigate()
  const question = useKeyRequests(keyId, SHOWN)
  const columns = useColumns()
  const all = (
    <Link to="/requests" search={{ key: keyId }} className={buttonClass('quiet')}>
      {keys.allRequests}
    </Link>
  )
  return (
    <Panel title={keys.recent} actions={all} padding="flush">
      <Answer question={question} lines={5}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty icon={ArrowLeftRight} title={keys.noRequests} {...(!isOver && { text: keys.noRequestsText })} />
          ) : (
            <DataTable
              caption={keys.recent}
              columns={columns}
              rows={items}
              rowId={({ id }) => id}
              onOpen={({ id }) => void navigate({ to: '/requests/$request', params: { request: id } })}
            />
          )
        }
      </Answer>
    </Panel>
  )
}

function useColumns(): Column<Item>[] {
  const { keys } = useWords()
  const formats = useFormats()
  return [
    {
      id: 'when',
      header: keys.when,
      narrow: 'title',
      cell: ({ id, opened_at }) => (
        <Link to="/requests/$request" params={{ request: id }} className="hover:text-accent hover:underline">
          <Time at={opened_at} />
        </Link>
      ),
    },
    { id: 'model', header: keys.model, cell: ({ model }) => <code className="break-all">{model}</code> },
    { id: 'outcome', header: keys.outcome, narrow: 'corner', cell: (item) => <Outcome item={item} /> },
    { id: 'in', header: keys.tokensIn, align: 'end', cell: ({ tokens }) => <Count of={inputOf(tokens)} /> },
    { id: 'out', header: keys.tokensOut, align: 'end', cell: ({ tokens }) => <Count of={tokens?.output} /> },
    {
      id: 'charge',
      header: keys.charge,
      align: 'end',
      cell: ({ charge, hold }) =>
        charge === null ? (
          <span className="text-held">{keys.heldNow(formats.money(hold))}</span>
        ) : (
          <Money amount={charge} />
        ),
    },
  ]
}

const inputOf = (tokens: Item['tokens']): number | undefined =>
  tokens === null ? undefined : tokens.uncached_input + tokens.cached_input + tokens.cache_write

const Count = ({ of }: { of: number | undefined }) => (of === undefined ? null : <Tokens count={of} />)

function Outcome({ item: { state, outcome } }: { item: Item }) {
  const { keys, requests } = useWords()
  if (state === 'open') return <Badge tone="accent">{keys.running}</Badge>
  const known: Readonly<Record<string, string>> = requests.outcomes
  const text = outcome === null ? keys.running : (known[outcome] ?? outcome)
  return <Badge tone={outcome === 'completed' ? 'good' : 'bad'}>{text}</Badge>
}
