import { Link } from '@tanstack/react-router'
import { useFormats, useMessages } from '../messages/MessagesProvider.tsx'
import { usePendingFundingRequests } from '../queries/operate.ts'
import { useSession } from '../queries/session.ts'
import { accountNavItems, type NavItem, operatorNavItems } from './nav-items.ts'

export function Navigation({ onGo }: { onGo?: () => void }) {
  const { person } = useSession()
  const { shell } = useMessages()
  const [own, operate] = [accountNavItems(person), operatorNavItems(person)]
  return (
    <nav aria-label={shell.navigation} className="grid gap-5">
      {own.length > 0 && <NavList items={own} onGo={onGo} />}
      {operate.length > 0 && (
        <div className="grid gap-1">
          <h2 className="eyebrow px-2.5">{shell.operate}</h2>
          <NavList items={operate} onGo={onGo} />
        </div>
      )}
    </nav>
  )
}

function PendingFundingRequests() {
  const { shell } = useMessages()
  const formats = useFormats()
  const count = usePendingFundingRequests()
  if (count === 0) return null
  return (
    <span className="figures ms-auto rounded-full bg-held-wash px-1.5 text-xs leading-5 text-held">
      <span aria-hidden="true">{formats.count(count)}</span>
      <span className="sr-only">{formats.plural(count, shell.fundingRequests)}</span>
    </span>
  )
}

function NavList({ items, onGo }: { items: readonly NavItem[]; onGo?: (() => void) | undefined }) {
  const { shell } = useMessages()
  return (
    <ul className="grid gap-0.5">
      {items.map(({ id, to, icon: Icon }) => (
        <li key={id}>
          <Link
            to={to}
            activeOptions={{ exact: to === '/' }}
            onClick={onGo}
            className="group flex min-h-8 items-center gap-2.5 rounded-md px-2.5 py-1 font-medium text-soft transition-colors hover:bg-hover hover:text-ink data-[status=active]:bg-accent-wash data-[status=active]:text-accent"
          >
            <Icon aria-hidden="true" className="size-4 shrink-0" />
            {shell.pageTitles[id]}
            {id === 'accounts' && <PendingFundingRequests />}
          </Link>
        </li>
      ))}
    </ul>
  )
}
