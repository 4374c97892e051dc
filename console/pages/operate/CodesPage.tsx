import { Link } from '@tanstack/react-router'
import { Plus, Ticket } from 'lucide-react'
import { useState } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { useLetterKey } from '../../lib/letter-keys.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { useApiMutation } from '../../queries/mutations.ts'
import { useCodes } from '../../queries/operate.ts'
import { itemsOf } from '../../queries/query.ts'
import { Button } from '../../ui/Button.tsx'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Dialog, DialogActions } from '../../ui/Dialog.tsx'
import { Badge, type BadgeTone, Empty, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { QueryView, ShowMore } from '../../ui/QueryView.tsx'
import { Money, Time } from '../../ui/values.tsx'
import { CreateCodesDialog } from './CreateCodesDialog.tsx'

export function CodesPage() {
  const { shell } = useMessages()
  const { codes } = useMessages().operator
  const query = useCodes()
  const [making, setMaking] = useState(false)
  const [withdrawing, setWithdrawing] = useState<Code>()
  const columns = useCodeColumns(setWithdrawing)
  const make = () => setMaking(true)
  useLetterKey('n', codes.make, make)
  const makeButton = (
    <Button tone="primary" onClick={make}>
      <Plus aria-hidden="true" />
      {codes.make}
    </Button>
  )
  return (
    <Page>
      <PageHeader title={shell.pageTitles.codes} about={codes.about} actions={makeButton} />
      <Panel padding="flush">
        <QueryView query={query} lines={6}>
          {(data) => {
            const rows = itemsOf(data)
            return rows.length === 0 ? (
              <Empty icon={Ticket} title={codes.none} text={codes.noneText} action={makeButton} />
            ) : (
              <DataTable caption={shell.pageTitles.codes} columns={columns} rows={rows} rowId={({ id }) => id} />
            )
          }}
        </QueryView>
        <ShowMore query={query} />
      </Panel>
      {making && <CreateCodesDialog onClose={() => setMaking(false)} />}
      <WithdrawCode code={withdrawing} onClose={() => setWithdrawing(undefined)} />
    </Page>
  )
}

function WithdrawCode({ code, onClose }: { code: Code | undefined; onClose: () => void }) {
  const { common } = useMessages()
  const { codes } = useMessages().operator
  const withdraw = useApiMutation('POST /operate/codes/:code/withdraw', {
    done: codes.withdrawn,
    onDone: onClose,
  })
  return (
    <Dialog title={codes.withdrawTitle} open={code !== undefined} onClose={onClose}>
      <p className="text-soft">{codes.withdrawText(code?.shown ?? '')}</p>
      <DialogActions>
        <Button onClick={onClose}>{common.cancel}</Button>
        <Button
          tone="danger"
          busy={withdraw.isPending}
          onClick={() => code !== undefined && withdraw.mutate({ params: { code: code.id } })}
        >
          {codes.withdraw}
        </Button>
      </DialogActions>
    </Dialog>
  )
}

type Code = AnswerOf<'GET /operate/codes'>['items'][number]

const TONES: Readonly<Record<Code['state'], BadgeTone>> = {
  open: 'good',
  redeemed: 'accent',
  expired: 'plain',
  withdrawn: 'plain',
}

function useCodeColumns(onWithdraw: (code: Code) => void): Column<Code>[] {
  const { common } = useMessages()
  const { codes } = useMessages().operator
  return [
    {
      id: 'code',
      header: codes.code,
      narrow: 'title',
      cell: ({ shown }) => <code className="whitespace-nowrap">{shown}</code>,
    },
    { id: 'value', header: codes.value, align: 'end', cell: ({ amount }) => <Money amount={amount} /> },
    {
      id: 'state',
      header: codes.state,
      narrow: 'corner',
      cell: ({ state }) => <Badge tone={TONES[state]}>{codes.states[state]}</Badge>,
    },
    {
      id: 'note',
      header: codes.note,
      cell: ({ note }) =>
        note !== '' && (
          <span title={note} className="line-clamp-2 max-w-64 break-words text-soft">
            {note}
          </span>
        ),
    },
    {
      id: 'redeemed',
      header: codes.redeemedBy,
      cell: ({ redeemed_by, redeemed_at }) =>
        redeemed_by !== null && (
          <span className="grid">
            <Link
              to="/operate/accounts/$account"
              params={{ account: redeemed_by }}
              title={redeemed_by}
              className="max-w-56 truncate hover:text-accent hover:underline"
            >
              {redeemed_by}
            </Link>
            {redeemed_at !== null && (
              <span className="text-xs text-faint">
                <Time at={redeemed_at} />
              </span>
            )}
          </span>
        ),
    },
    { id: 'created', header: codes.created, cell: ({ created_at }) => <Time at={created_at} as="day" /> },
    {
      id: 'expires',
      header: codes.expires,
      cell: ({ expires_at }) =>
        expires_at === null ? (
          <span className="text-faint">{codes.expiries.never}</span>
        ) : (
          <Time at={expires_at} as="day" />
        ),
    },
    {
      id: 'withdraw',
      header: common.actions,
      quiet: true,
      align: 'end',
      narrow: 'corner',
      cell: (code) =>
        code.state === 'open' && (
          <Button aria-label={codes.withdrawThis(code.shown)} onClick={() => onWithdraw(code)}>
            {codes.withdraw}
          </Button>
        ),
    },
  ]
}
