import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Bell } from 'lucide-react'
import { useFormats, useMessages } from '../messages/MessagesProvider.tsx'
import { queryFor } from '../queries/query.ts'

/** On every page, so its query is here and not with those of the page. */
export function NoticeBell() {
  const { shell } = useMessages()
  const formats = useFormats()
  const { data } = useQuery({ ...queryFor('GET /notices/unread', {}), refetchInterval: 30_000 })
  const unread = data?.unread ?? 0
  const title = shell.pageTitles.notices
  return (
    <Link
      to="/notices"
      aria-label={unread === 0 ? title : `${title}: ${formats.plural(unread, shell.unread)}`}
      className="relative grid size-8 place-items-center rounded-md text-soft hover:bg-hover"
    >
      <Bell aria-hidden="true" className="size-4" />
      {unread > 0 && (
        <span
          aria-hidden="true"
          className="absolute end-0 top-0 rounded-full bg-accent px-1 text-xs leading-4 text-on-accent"
        >
          {unread > 99 ? '99+' : unread}
        </span>
      )}
    </Link>
  )
}
