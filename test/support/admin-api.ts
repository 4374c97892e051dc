import { ADMIN_ROUTES, type AdminRouteName } from '../../src/contract/admin-api.ts'
import type { AdminScope } from '../../src/contract/admin-keys.ts'
import type { TestServer } from './start-server.ts'

export const ADMIN_NAMES = Object.keys(ADMIN_ROUTES) as AdminRouteName[]

interface SentToAdmin {
  /** The bearer token. */
  readonly key?: string | undefined
  readonly params?: Readonly<Record<string, string>>
  readonly query?: unknown
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface AdminAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; the error of a refusal. */
  readonly json: Record<string, unknown>
  readonly error: { readonly code: string; readonly message: string; readonly param: string | null } | undefined
}

/** Calls a route of the management API. */
export async function sendToAdmin(
  { port }: Pick<TestServer, 'port'>,
  name: AdminRouteName,
  { key, params = {}, query = {}, body, headers = {} }: SentToAdmin,
): Promise<AdminAnswer> {
  const [method = '', template = ''] = name.split(' ')
  const path = template.replace(/:(\w+)/g, (_, each: string) => encodeURIComponent(params[each] ?? 'none'))
  const search = new URLSearchParams(query as Record<string, string>)
  const response = await fetch(`http://127.0.0.1:${port}/admin/v1${path}?${search}`, {
    method,
    headers: {
      ...(method === 'GET' ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...headers,
    },
    ...(method === 'GET' ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body ?? {}) }),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type') === 'application/json'
  const json = (isJson ? JSON.parse(text) : {}) as AdminAnswer['json']
  return { status: response.status, headers: response.headers, text, json, error: json.error as AdminAnswer['error'] }
}

/** The secret of a new admin key. One of SCIM is for an account of its own. */
export const createAdminKey = async (
  { operate }: Pick<TestServer, 'operate'>,
  scopes: AdminScope[],
  expires?: string,
): Promise<{ readonly id: string; readonly secret: string }> => {
  const account = scopes.includes('scim')
    ? (await operate('accounts.create', { email: `scim-${++made}@example.com` })).id
    : undefined
  const more = { ...(expires !== undefined && { expires }), ...(account !== undefined && { account }) }
  return operate('admin-keys.create', { name: scopes.join(' '), scopes, ...more })
}

let made = 0
