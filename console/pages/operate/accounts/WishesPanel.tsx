import { Link } from '@tanstack/react-router'
import type { AnswerOf } from '../../../../src/contract/console-api.ts'
import { useWishes } from '../../../questions/operate.ts'
import { itemsOf } from '../../../questions/question.ts'
import { ShowMore } from '../../../ui/Answer.tsx'
import { buttonClass } from '../../../ui/Button.tsx'
import { type Column, DataTable } from '../../../ui/DataTable.tsx'
import { Money } from '../../../ui/Money.tsx'
import { Panel } from '../../../ui/Panel.tsx'
import { ProblemNote } from '../../../ui/ProblemNote.tsx'
import { Time } from '../../../ui/Time.tsx'
import { useWords } from '../../../words/WordsProvider.tsx'

type Wish = AnswerOf<'GET /operate/wishes'>['items'][number]

/** Who waits for money. Where nobody does, it takes no room. */
export function WishesPanel() {
  const { accounts } = useWords()
  const question = useWishes()
  const columns = useColumns()
  if (question.data === undefined) {
    return question.error === null ? null : (
      <ProblemNote error={question.error} onRetry={() => void question.refetch()} />
    )
  }
  const wishes = itemsOf(question.data)
  if (wishes.length === 0) return null
  return (
    <Panel title={accounts.wishes} about={accounts.wishesAbout} padding="flush">
      <DataTable caption={accounts.wishes} columns={columns} rows={wishes} rowId={({ account }) => account} />
      <ShowMore question={question} />
    </Panel>
  )
}

function useColumns(): Column<Wish>[] {
  const { accounts } = useWords()
  return [
    {
      id: 'email',
      header: accounts.email,
      narrow: 'title',
      cell: ({ account, email }) => (
        <Link
          to="/operate/accounts/$account"
          params={{ account }}
          className="block max-w-64 min-w-0 truncate font-medium hover:text-accent hover:underline"
          title={email}
        >
          {email}
        </Link>
      ),
    },
    { id: 'amount', header: accounts.wish.amount, align: 'end', cell: ({ amount }) => <Money amount={amount} /> },
    {
      id: 'note',
      header: accounts.wish.note,
      cell: ({ note }) => <span className="line-clamp-2 max-w-96 min-w-40 break-words text-soft">{note}</span>,
    },
    { id: 'at', header: accounts.wish.at, cell: ({ at }) => <Time at={at} /> },
    {
      id: 'credit',
      header: accounts.creditThis,
      quiet: true,
      align: 'end',
      narrow: 'corner',
      cell: ({ account, amount }) => (
        <Link
          to="/operate/accounts/$account"
          params={{ account }}
          search={{ credit: amount }}
          className={buttonClass('plain')}
        >
          {accounts.creditThis}
        </Link>
      ),
    },
  ]
}
