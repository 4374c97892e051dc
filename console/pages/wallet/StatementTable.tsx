import { Link, useNavigate } from '@tanstack/react-router'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { Badge, type BadgeTone } from '../../ui/Badge.tsx'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Money } from '../../ui/Money.tsx'
import { Time } from '../../ui/Time.tsx'
import { useMessages } from '../../messages/MessagesProvider.tsx'

type Movement = AnswerOf<'GET /wallet/statement'>['items'][number]

const TONES: Readonly<Record<Movement['kind'], BadgeTone>> = {
  charge: 'plain',
  credit: 'good',
  refund: 'good',
  adjustment: 'held',
}

export function StatementTable({ movements }: { movements: readonly Movement[] }) {
  const { wallet } = useMessages()
  const navigate = useNavigate()
  return (
    <DataTable
      caption={wallet.statement}
      columns={useColumns()}
      rows={movements}
      rowId={({ movement }) => String(movement)}
      onOpen={({ kind, ref }) => {
        if (kind === 'charge') void navigate({ to: '/requests/$request', params: { request: ref } })
      }}
    />
  )
}

/** With all digits: each balance is the one below it with the amount added, and that can be seen. */
function useColumns(): Column<Movement>[] {
  const { wallet } = useMessages()
  return [
    { id: 'when', header: wallet.when, cell: (line) => <When line={line} /> },
    { id: 'kind', header: wallet.kind, cell: ({ kind }) => <Badge tone={TONES[kind]}>{wallet.kinds[kind]}</Badge> },
    { id: 'cause', header: wallet.cause, narrow: 'title', cell: (movement) => <Cause movement={movement} /> },
    {
      id: 'amount',
      header: wallet.moved,
      align: 'end',
      narrow: 'corner',
      cell: ({ amount }) => <Money amount={amount} as="moves" digits="exact" />,
    },
    {
      id: 'after',
      header: wallet.after,
      align: 'end',
      cell: ({ balance }) =>
        balance === null ? (
          <span className="text-faint">{wallet.unknownBalance}</span>
        ) : (
          <Money amount={balance} digits="exact" />
        ),
    },
  ]
}

/** With its number, by which a request names its line. */
function When({ line: { at, movement } }: { line: Movement }) {
  const { wallet } = useMessages()
  return (
    <>
      <Time at={at} as="time" />
      <span className="figures block text-xs text-faint">{wallet.line(String(movement))}</span>
    </>
  )
}

/** A charge comes from a request; everything else from somebody who said why, under a reference that counts once. */
function Cause({ movement: { kind, ref, reason, model, key } }: { movement: Movement }) {
  const { wallet } = useMessages()
  if (kind !== 'charge') {
    return (
      <div className="grid max-w-96">
        <span className="wrap-anywhere">{reason}</span>
        <code className="text-xs font-normal wrap-anywhere text-faint">{ref}</code>
      </div>
    )
  }
  return (
    <div className="grid max-w-96">
      <span className="flex flex-wrap gap-x-2">
        <Link
          to="/requests/$request"
          params={{ request: ref }}
          title={ref}
          className="min-h-6 font-medium wrap-anywhere text-accent hover:underline"
        >
          {model ?? wallet.request}
        </Link>
      </span>
      {key !== null && (
        <Link
          to="/keys/$key"
          params={{ key: key.id }}
          title={key.name}
          className="block w-fit max-w-full truncate text-xs leading-6 font-normal text-faint hover:text-accent hover:underline"
        >
          {wallet.byKey(key.name)}
        </Link>
      )}
    </div>
  )
}
