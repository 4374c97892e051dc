import {
  Activity,
  ArrowLeftRight,
  Boxes,
  ChartColumn,
  CreditCard,
  Gauge,
  House,
  KeyRound,
  Layers,
  type LucideIcon,
  MessagesSquare,
  Network,
  Plug,
  ReceiptText,
  ScrollText,
  SearchCheck,
  Server,
  Ticket,
  Users,
  UsersRound,
  Wallet,
  Waypoints,
} from 'lucide-react'
import type { Catalogue } from '../messages/catalogue.ts'
import { may, type Person, type Right } from '../queries/session.ts'

export interface NavItem {
  readonly id: keyof Catalogue['shell']['pageTitles']
  readonly to: string
  readonly icon: LucideIcon
  /** The key after `g`. */
  readonly letter?: string
}

interface AccountNavItem extends NavItem {
  /** Without it, the page is for every role. */
  readonly needs?: Right
}

/** Pages of an account in the navigation; an id is a key of `shell.pageTitles`. All steps for a new page: `pages` in routes.tsx. */
const ACCOUNT_NAV_ITEMS: readonly AccountNavItem[] = [
  { id: 'overview', to: '/', icon: House, letter: 'o' },
  { id: 'keys', to: '/keys', icon: KeyRound, letter: 'k' },
  { id: 'wallet', to: '/wallet', icon: Wallet, letter: 'w', needs: 'viewer' },
  { id: 'plan', to: '/plan', icon: Gauge, letter: 'b', needs: 'viewer' },
  { id: 'usage', to: '/usage', icon: ChartColumn, letter: 'u' },
  { id: 'requests', to: '/requests', icon: ArrowLeftRight, letter: 'r' },
  { id: 'models', to: '/models', icon: Boxes, letter: 'm' },
  { id: 'playground', to: '/playground', icon: MessagesSquare, letter: 'p', needs: 'member' },
  { id: 'connect', to: '/connect', icon: Plug, letter: 'c', needs: 'member' },
  { id: 'teams', to: '/teams', icon: Network, letter: 't', needs: 'viewer' },
  { id: 'members', to: '/members', icon: UsersRound, letter: 'e', needs: 'viewer' },
]

const OPERATOR_NAV_ITEMS: readonly NavItem[] = [
  { id: 'serverOverview', to: '/operate/overview', icon: Activity, letter: 'v' },
  { id: 'accounts', to: '/operate/accounts', icon: Users, letter: 'a' },
  { id: 'codes', to: '/operate/codes', icon: Ticket },
  { id: 'payments', to: '/operate/payments', icon: ReceiptText },
  { id: 'plans', to: '/operate/plans', icon: CreditCard },
  { id: 'managed', to: '/operate/managed', icon: Layers },
  { id: 'lanes', to: '/operate/lanes', icon: Waypoints, letter: 'l' },
  { id: 'findRequest', to: '/operate/requests', icon: SearchCheck },
  { id: 'auditAll', to: '/operate/audit', icon: ScrollText },
  { id: 'system', to: '/operate/system', icon: Server, letter: 's' },
]

/** Not in the navigation, but in the command palette of those who see all of the account. */
export const AUDIT_NAV_ITEM: NavItem = { id: 'audit', to: '/audit', icon: Layers }

/** By role. An operator may have no account of their own. */
export const accountNavItems = (person: Person): readonly NavItem[] =>
  person.account === null ? [] : ACCOUNT_NAV_ITEMS.filter(({ needs }) => needs === undefined || may(person, needs))

export const operatorNavItems = (person: Person): readonly NavItem[] =>
  person.role === 'operator' ? OPERATOR_NAV_ITEMS : []

export const homeOf = (person: Person): string =>
  (accountNavItems(person)[0] ?? operatorNavItems(person)[0])?.to ?? '/settings'
