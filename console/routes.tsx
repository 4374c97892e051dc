import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  type RouteComponent,
  redirect,
} from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { CONSOLE_BASE } from './lib/api-client.ts'
import { partLost } from './lib/console-problem.ts'
import type { LazyBundle } from './messages/catalogue.ts'
import { loadMessages } from './messages/loading.ts'
import { sessionQuery } from './queries/session.ts'
import { NotFound, PageFailed } from './shell/error-pages.tsx'
import { landingOf } from './shell/landing.ts'
import { homeOf } from './shell/nav-items.ts'
import { Shell } from './shell/Shell.tsx'

interface RouterContext {
  readonly client: QueryClient
}

type Load<Name extends string> = () => Promise<Readonly<Record<Name, () => ReactNode>>>

/**
 * Loads a page together with its messages. On a missing file the router would reload the document and could end on the
 * browser's error page, so the console shows its own error.
 */
const lazyPage = <const Name extends string>(
  bundles: readonly LazyBundle[],
  load: Load<Name>,
  name: Name,
): RouteComponent =>
  lazyRouteComponent(async () => {
    const [page] = await Promise.all([load(), loadMessages(bundles)]).catch(() => {
      throw partLost()
    })
    return page
  }, name)

const root = createRootRouteWithContext<RouterContext>()({ component: Outlet })

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: landingOf,
  beforeLoad: async ({ context }) => {
    const { person } = await context.client.ensureQueryData(sessionQuery)
    if (person !== null) throw redirect({ to: homeOf(person), replace: true })
  },
  component: lazyPage(['people'], () => import('./pages/sign-in/SignInPage.tsx'), 'SignInPage'),
})

const setUp = createRoute({
  getParentRoute: () => root,
  path: '/setup',
  loader: ({ context }) => context.client.ensureQueryData(sessionQuery),
  component: lazyPage(['people'], () => import('./pages/sign-in/SetUpPage.tsx'), 'SetUpPage'),
})

const confirmed = createRoute({
  getParentRoute: () => root,
  path: '/confirmed',
  validateSearch: landingOf,
  component: lazyPage(['people'], () => import('./pages/sign-in/ConfirmedPage.tsx'), 'ConfirmedPage'),
})

const secondStep = createRoute({
  getParentRoute: () => root,
  path: '/second-step',
  validateSearch: landingOf,
  beforeLoad: async ({ context }) => {
    const { person, second_factor } = await context.client.ensureQueryData(sessionQuery)
    if (person === null) throw redirect({ to: '/sign-in', replace: true })
    if (second_factor === null) throw redirect({ to: homeOf(person), replace: true })
  },
  component: lazyPage(['people', 'settings'], () => import('./pages/settings/SecondStepPage.tsx'), 'SecondStepPage'),
})

/** Redirects to the sign-in or to the second step, and from there back to the requested page. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  beforeLoad: async ({ context, location }) => {
    const { person, second_factor } = await context.client.ensureQueryData(sessionQuery)
    const search = landingOf({ next: location.href })
    if (person === null) throw redirect({ to: '/sign-in', search, replace: true })
    if (second_factor !== null) throw redirect({ to: '/second-step', search, replace: true })
    return { person }
  },
  component: Shell,
})

const overview = createRoute({
  getParentRoute: () => inside,
  path: '/',
  beforeLoad: ({ context }) => {
    const home = homeOf(context.person)
    if (home !== '/') throw redirect({ to: home, replace: true })
  },
  component: lazyPage([], () => import('./pages/overview/OverviewPage.tsx'), 'OverviewPage'),
})

type Search = Readonly<Record<string, string>>

/** Filters are plain text in the address. Each page reads its own. */
const plainSearch = (search: Record<string, unknown>): Search =>
  Object.fromEntries(Object.entries(search).filter((entry): entry is [string, string] => typeof entry[1] === 'string'))

const page = <const Path extends string, const Name extends string>(
  path: Path,
  bundles: readonly LazyBundle[],
  load: Load<Name>,
  name: Name,
) =>
  createRoute({
    getParentRoute: () => inside,
    path,
    component: lazyPage(bundles, load, name),
    validateSearch: plainSearch,
  })

const elsewhere = createRoute({ getParentRoute: () => inside, path: '$', component: NotFound })

/**
 * The pages: path, messages, component. A new page is a component in `pages/`, a line here and in `shell/nav-items.ts`, its messages in
 * `messages/en/` and `messages/de/` (a new bundle is listed in `messages/en.ts` and `de.ts`; the title in the menu is a key of
 * `shell.pageTitles`), and for new data a route in `src/contract/console-api.ts` with its handler in
 * `src/server/console/handlers.ts` and a query in `queries/`. `docs/console.md` shows each.
 */
const pages = [
  overview,
  page('/keys', ['caps', 'keys'], () => import('./pages/keys/KeysPage.tsx'), 'KeysPage'),
  page('/keys/$key', ['audit', 'caps', 'keys'], () => import('./pages/keys/KeyPage.tsx'), 'KeyPage'),
  page('/wallet', ['payments', 'wallet'], () => import('./pages/wallet/WalletPage.tsx'), 'WalletPage'),
  page('/plan', ['payments', 'plan'], () => import('./pages/plan/PlanPage.tsx'), 'PlanPage'),
  page('/usage', ['usage'], () => import('./pages/usage/UsagePage.tsx'), 'UsagePage'),
  page('/requests', [], () => import('./pages/requests/RequestsPage.tsx'), 'RequestsPage'),
  page('/requests/$request', ['receipt'], () => import('./pages/requests/RequestPage.tsx'), 'RequestPage'),
  page('/runs', ['runs'], () => import('./pages/runs/RunsPage.tsx'), 'RunsPage'),
  page('/runs/$run', ['runs'], () => import('./pages/runs/RunPage.tsx'), 'RunPage'),
  page('/models', ['models'], () => import('./pages/models/ModelsPage.tsx'), 'ModelsPage'),
  page('/playground', ['playground'], () => import('./pages/playground/PlaygroundPage.tsx'), 'PlaygroundPage'),
  page('/connect', ['connect'], () => import('./pages/connect/ConnectPage.tsx'), 'ConnectPage'),
  page('/reference', ['connect'], () => import('./pages/connect/ReferencePage.tsx'), 'ReferencePage'),
  page('/members', ['members'], () => import('./pages/members/MembersPage.tsx'), 'MembersPage'),
  page('/notices', ['notices'], () => import('./pages/notices/NoticesPage.tsx'), 'NoticesPage'),
  page(
    '/members/$person',
    ['caps', 'keys', 'members', 'teams'],
    () => import('./pages/members/MemberPage.tsx'),
    'MemberPage',
  ),
  page('/teams', ['caps', 'teams'], () => import('./pages/teams/TeamsPage.tsx'), 'TeamsPage'),
  page('/teams/$team', ['caps', 'keys', 'teams'], () => import('./pages/teams/TeamPage.tsx'), 'TeamPage'),
  page('/audit', ['audit'], () => import('./pages/audit/AuditPage.tsx'), 'AuditPage'),
  page('/settings', ['people', 'settings'], () => import('./pages/settings/SettingsPage.tsx'), 'SettingsPage'),
  page('/invoice', ['reports'], () => import('./pages/invoice/InvoicePage.tsx'), 'InvoicePage'),
  page(
    '/operate/overview',
    ['reports'],
    () => import('./pages/operate/reports/ServerOverviewPage.tsx'),
    'ServerOverviewPage',
  ),
  page(
    '/operate/accounts/$account/invoice',
    ['reports'],
    () => import('./pages/invoice/InvoicePage.tsx'),
    'OperatorInvoicePage',
  ),
  page('/operate/accounts', ['accounts'], () => import('./pages/operate/accounts/AccountsPage.tsx'), 'AccountsPage'),
  page(
    '/operate/accounts/$account',
    ['accounts', 'members', 'reports'],
    () => import('./pages/operate/accounts/AccountPage.tsx'),
    'AccountPage',
  ),
  page('/operate/codes', ['operator'], () => import('./pages/operate/CodesPage.tsx'), 'CodesPage'),
  page('/operate/payments', ['payments'], () => import('./pages/operate/PaymentsPage.tsx'), 'PaymentsPage'),
  page('/operate/plans', ['operator'], () => import('./pages/operate/PlansPage.tsx'), 'PlansPage'),
  page('/operate/managed', ['managed'], () => import('./pages/operate/managed/ManagedPage.tsx'), 'ManagedPage'),
  page('/operate/lanes', ['operator', 'receipt'], () => import('./pages/operate/LanesPage.tsx'), 'LanesPage'),
  page(
    '/operate/requests',
    ['reports'],
    () => import('./pages/operate/reports/AllRequestsPage.tsx'),
    'AllRequestsPage',
  ),
  page(
    '/operate/requests/$request',
    ['operator', 'receipt'],
    () => import('./pages/operate/FoundRequestPage.tsx'),
    'FoundRequestPage',
  ),
  page('/operate/audit', ['audit'], () => import('./pages/audit/AuditPage.tsx'), 'OperatorAuditPage'),
  page('/operate/system', ['operator'], () => import('./pages/operate/SystemPage.tsx'), 'SystemPage'),
  elsewhere,
] as const

const routeTree = root.addChildren([signIn, setUp, confirmed, secondStep, inside.addChildren(pages)])

export const createConsoleRouter = (client: QueryClient) =>
  createRouter({
    routeTree,
    basepath: CONSOLE_BASE,
    context: { client },
    defaultPreload: 'intent',
    defaultPreloadStaleTime: 0,
    defaultNotFoundComponent: NotFound,
    defaultErrorComponent: PageFailed,
    scrollRestoration: true,
    // Plain text keeps numeric ids as text and addresses readable.
    parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
    stringifySearch: (search) => {
      const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '')
      const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString()
      return text === '' ? '' : `?${text}`
    },
  })

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>
  }
}
