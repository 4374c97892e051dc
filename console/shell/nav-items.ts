import {
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
  Plug,
  ScrollText,
  SearchCheck,
  Server,
  Ticket,
  Users,
  Wallet,
  Waypoints,
} from 'lucide-react'
import type { Catalogue } from '../messages/catalogue.ts'
import type { Person } from '../queries/session.ts'

export interface NavItem {
  readonly id: keyof Catalogue['shell']['pageTitles']
  readonly to: string
  readonly icon: LucideIcon
  /** The key after `g`. */
  readonly letter?: string
}

/** Pages of owners in the navigation; an id is a key of `shell.pageTitles`. All steps for a new page: `pages` in routes.tsx. */
const OWNER_NAV_ITEMS: readonly NavItem[] = [
  { id: 'overview', to: '/', icon: House, letter: 'o' },
  { id: 'keys', to: '/keys', icon: KeyRound, letter: 'k' },
  { id: 'wallet', to: '/wallet', icon: Wallet, letter: 'w' },
  { id: 'plan', to: '/plan', icon: Gauge, letter: 'b' },
  { id: 'usage', to: '/usage', icon: ChartColumn, letter: 'u' },
  { id: 'requests', to: '/requests', icon: ArrowLeftRight, letter: 'r' },
  { id: 'models', to: '/models', icon: Boxes, letter: 'm' },
  { id: 'playground', to: '/playground', icon: MessagesSquare, letter: 'p' },
  { id: 'connect', to: '/connect', icon: Plug, letter: 'c' },
]

const OPERATOR_NAV_ITEMS: readonly NavItem[] = [
  { id: 'accounts', to: '/operate/accounts', icon: Users, letter: 'a' },
  { id: 'codes', to: '/operate/codes', icon: Ticket },
  { id: 'plans', to: '/operate/plans', icon: CreditCard },
  { id: 'lanes', to: '/operate/lanes', icon: Waypoints, letter: 'l' },
  { id: 'findRequest', to: '/operate/requests', icon: SearchCheck },
  { id: 'auditAll', to: '/operate/audit', icon: ScrollText },
  { id: 'system', to: '/operate/system', icon: Server, letter: 's' },
]

/** Not in the navigation, but in the command palette. */
export const AUDIT_NAV_ITEM: NavItem = { id: 'audit', to: '/audit', icon: Layers }

/** An operator may have no account of their own. */
export const ownerNavItems = (person: Person): readonly NavItem[] => (person.account === null ? [] : OWNER_NAV_ITEMS)

export const operatorNavItems = (person: Person): readonly NavItem[] =>
  person.role === 'operator' ? OPERATOR_NAV_ITEMS : []

export const homeOf = (person: Person): string =>
  (ownerNavItems(person)[0] ?? operatorNavItems(person)[0])?.to ?? '/settings'
