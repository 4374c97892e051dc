import { Link } from '@tanstack/react-router'
import type { Column } from '../../ui/DataTable.tsx'
import { Money } from '../../ui/Money.tsx'
import { Time } from '../../ui/Time.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import { type Account, StatusBadge } from './StatusBadge.tsx'

export function useAccountColumns(): Column<Account>[] {
  const { accounts } = useWords()
  const formats = useFormats()
  return [
    {
      id: 'email',
      header: accounts.email,
      narrow: 'title',
      cell: ({ id, email }) => (
        <Link
          to="/operate/accounts/$account"
          params={{ account: id }}
          className="block max-w-80 min-w-0 xl:max-w-112 truncate font-medium hover:text-accent hover:underline"
          title={`${email}\n${id}`}
        >
          {email}
        </Link>
      ),
    },
    {
      id: 'status',
      header: accounts.status,
      narrow: 'corner',
      cell: ({ status }) => <StatusBadge status={status} />,
    },
    {
      id: 'available',
      header: accounts.available,
      align: 'end',
      cell: ({ wallet }) => <Money amount={wallet.available} />,
    },
    {
      id: 'plan',
      header: accounts.plan,
      cell: ({ plan }) => plan ?? <span className="text-faint">{accounts.noPlan}</span>,
    },
    { id: 'keys', header: accounts.keys, align: 'end', cell: ({ keys }) => formats.count(keys) },
    { id: 'people', header: accounts.people, align: 'end', cell: ({ people }) => formats.count(people) },
    {
      id: 'created',
      header: accounts.created,
      align: 'end',
      cell: ({ created_at }) => <Time at={created_at} as="day" />,
    },
  ]
}
