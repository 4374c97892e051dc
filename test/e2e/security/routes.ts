import { ADMIN_ROUTES, type AdminRouteName } from '../../../src/contract/admin-api.ts'
import { CONSOLE_API, type RouteName } from '../../../src/contract/console-api.ts'
import { PLAYGROUND_ENDPOINTS } from '../../../src/server/console/serve-console.ts'
import { ROUTES } from '../../../src/server/routes.ts'
import { SCIM_RESOURCES } from '../../../src/server/scim/serve-scim.ts'

/** A route of the server, as its table writes it. */
export interface MatrixRoute {
  readonly surface: 'server' | 'admin' | 'console' | 'scim' | 'playground' | 'sign-on'
  readonly method: string
  /** Relative to its surface. `:name` and `{id}` are ids, and so is what follows a slash at its end. */
  readonly path: string
  /** What its path names. */
  readonly names: readonly string[]
  /** What the contract says that it needs. */
  readonly contract?: string
}

const idsIn = (path: string): string[] => [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)

/** Five methods of one path lead to a table of its own. */
const EVERY_METHOD = 5

function ofServer(): MatrixRoute[] {
  return [...ROUTES].flatMap(([path, methods]) => {
    const names = Object.keys(methods)
    const written = names.length === EVERY_METHOD ? ['*'] : names
    return written.map((method) => ({ surface: 'server' as const, method, path, names: [] }))
  })
}

function ofContract(
  surface: 'admin' | 'console',
  names: readonly string[],
  need: (name: string) => string,
): MatrixRoute[] {
  return names.map((name) => {
    const [method = '', path = ''] = name.split(' ')
    return { surface, method, path, names: idsIn(path), contract: need(name) }
  })
}

/** The descriptions of the service are no resources: they are in no table. */
const SCIM_DESCRIPTIONS = ['/ServiceProviderConfig', '/ResourceTypes', '/Schemas']

function ofScim(): MatrixRoute[] {
  const resources = [...SCIM_RESOURCES].flatMap(([name, { collection, one }]) => [
    ...Object.keys(collection).map((method) => ({ method, path: `/${name}`, names: [] })),
    ...Object.keys(one).map((method) => ({ method, path: `/${name}/:${name}`, names: [name] })),
  ])
  const described = SCIM_DESCRIPTIONS.map((path) => ({ method: 'GET', path, names: [] }))
  return [...resources, ...described].map((route) => ({ surface: 'scim' as const, ...route }))
}

const playground = [...PLAYGROUND_ENDPOINTS.keys()].map(
  (name): MatrixRoute => ({ surface: 'playground', method: 'POST', path: `/${name}`, names: [] }),
)

const signOn = ['/corp', '/corp/callback', '/unknown'].map(
  (path): MatrixRoute => ({ surface: 'sign-on', method: 'GET', path, names: [] }),
)

/** What ends the session of the caller comes last. */
const isLast = ({ surface, method, path }: MatrixRoute): number =>
  surface === 'console' && method === 'DELETE' && path === '/session' ? 1 : 0

export const ALL_ROUTES: readonly MatrixRoute[] = [
  ...ofServer(),
  ...ofContract('admin', Object.keys(ADMIN_ROUTES), (name) => ADMIN_ROUTES[name as AdminRouteName].scope),
  ...ofScim(),
  ...playground,
  ...signOn,
  ...ofContract('console', Object.keys(CONSOLE_API), (name) => CONSOLE_API[name as RouteName].who),
].toSorted((one, other) => isLast(one) - isLast(other))

const BASES: Readonly<Record<MatrixRoute['surface'], string>> = {
  server: '',
  admin: '/admin/v1',
  console: '/console/api',
  scim: '/scim/v2',
  playground: '/console/api/playground',
  'sign-on': '/console/sso',
}

/** The path with ids in it. A path that ends in a slash takes the id named by itself. */
export function targetOf({ surface, path }: MatrixRoute, ids: Readonly<Record<string, string>>): string {
  const filled = path
    .replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(ids[name] ?? 'none'))
    .replace('{id}', ids['/v1/responses/'] ?? 'none')
  return BASES[surface] + filled + (surface === 'server' ? (ids[path] ?? '') : '')
}
