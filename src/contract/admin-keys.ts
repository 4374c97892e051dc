import { z } from 'zod'
import { line, moment, named, time, timeOrNull } from './values.ts'

/** What an admin key may do: a closed list. `admin` is all of it. `scim` stands alone: such a key is for one account. */
export const ADMIN_SCOPES = [
  ...(['accounts:read', 'accounts:write', 'people:read', 'people:write', 'keys:read', 'keys:write'] as const),
  ...(['wallet:read', 'wallet:write', 'codes:read', 'codes:write', 'plans:read', 'plans:write'] as const),
  ...(['notices:read', 'notices:write'] as const),
  ...(['catalog:read', 'catalog:write'] as const),
  ...(['usage:read', 'requests:read', 'audit:read', 'admin-keys:read', 'admin-keys:write', 'scim', 'admin'] as const),
] as const

export type AdminScope = (typeof ADMIN_SCOPES)[number]

/** `write` of a family includes its `read`, and `admin` everything. */
export const allows = (granted: readonly AdminScope[], needed: AdminScope): boolean =>
  granted.includes('admin') ||
  granted.includes(needed) ||
  (needed.endsWith(':read') && (granted as readonly string[]).includes(needed.replace(':read', ':write')))

const scopes = z
  .array(z.enum(ADMIN_SCOPES, { error: `is not a scope. Scopes: ${ADMIN_SCOPES.join(', ')}` }))
  .min(1)
  .max(ADMIN_SCOPES.length)

export const createAdminKeyBody = z.strictObject({
  name: line(100),
  scopes,
  /** Null or absent: never. */
  expires: moment.nullable().optional(),
  /** For the scope `scim`, and only for it: the account whose people it manages. */
  account: named.optional(),
})

export const adminKeyItem = z.strictObject({
  id: z.string(),
  name: z.string(),
  /** Its beginning and its end. The rest is not stored. */
  shown: z.string(),
  scopes: z.array(z.enum(ADMIN_SCOPES)),
  state: z.enum(['active', 'expired', 'revoked']),
  created_at: time,
  /** An email, `operator` for the command line, or `admin-key:` and an id. */
  created_by: z.string(),
  expires_at: timeOrNull,
  last_used_at: timeOrNull,
  /** The account of a key for SCIM. */
  account: z.string().nullable(),
})

/** `made`: ids of active keys that the key, or one that it has made, has made. They stay. */
export const revokedAdminKey = z.strictObject({ ...adminKeyItem.shape, made: z.array(z.string()) })

/** The secret is returned once and stored nowhere. */
export const madeAdminKey = z.strictObject({ ...adminKeyItem.shape, secret: z.string() })
