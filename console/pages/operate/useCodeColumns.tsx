import { Link } from '@tanstack/react-router'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { Badge, type BadgeTone } from '../../ui/Badge.tsx'
import { Button } from '../../ui/Button.tsx'
import type { Column } from '../../ui/DataTable.tsx'
import { Money } from '../../ui/Money.tsx'
import { Time } from '../../ui/Time.tsx'
import { useWords } from '../../words/WordsProvider.tsx'

export type Code = AnswerOf<'GET /operate/codes'>['items'][number]

const TONES: Readonly<Record<Code['state'], BadgeTone>> = {
  open: 'good',
  redeemed: 'accent',
  expired: 'plain',
  withdrawn: 'plain',
}

export function useCodeColumns(onWithdraw: (code: Code) => void): Column<Code>[] {
  const { codes, common } = useWords()
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
