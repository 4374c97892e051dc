import { findUnseen } from '../lib/text.ts'

/** How SCIM 2.0 (RFC 7643, RFC 7644) says what a resource is to become, and how Okta and Microsoft Entra write it. */

/** Why a request was refused: an error of RFC 7644, section 3.12. */
export interface ScimRefused {
  readonly kind: 'refused'
  readonly status: number
  readonly scimType?: string | undefined
  readonly detail: string
}

export const refuseScim = (status: number, detail: string, scimType?: string): ScimRefused => ({
  kind: 'refused',
  status,
  scimType,
  detail,
})

const invalid = (detail: string) => refuseScim(400, detail, 'invalidValue')
const syntax = (detail: string) => refuseScim(400, detail, 'invalidSyntax')

/** What is to become of a user. Absent: it stays. Null: it is taken away. */
export interface UserTerms {
  userName?: string
  active?: boolean
  externalId?: string | null
  givenName?: string | null
  familyName?: string | null
  displayName?: string | null
}

export interface GroupTerms {
  displayName?: string
  externalId?: string | null
}

/** Members by their ids, in the order of the request. */
export type MemberChange =
  | { readonly kind: 'set'; readonly ids: readonly string[] }
  | { readonly kind: 'add' | 'remove'; readonly ids: readonly string[] }

export interface GroupChange {
  readonly terms: GroupTerms
  readonly members: readonly MemberChange[]
}

const TEXT_MAX = 320
const OPERATIONS_MAX = 200
const MEMBERS_MAX = 2000

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Names of attributes are read without regard to case. An attribute may have the URN of its schema before it. */
const nameOf = (name: string): string =>
  name.replace(/^urn:ietf:params:scim:schemas:core:2\.0:(user|group):/i, '').toLowerCase()

const byName = (value: Fields): Map<string, unknown> =>
  new Map(Object.entries(value).map(([name, each]) => [nameOf(name), each]))

function readText(name: string, value: unknown): string | null | ScimRefused {
  if (value === null || value === '') return null
  if (typeof value !== 'string' || value.length > TEXT_MAX || findUnseen(value) !== undefined)
    return invalid(`${name} must be a text of at most ${TEXT_MAX} visible characters.`)
  return value.trim()
}

/** Microsoft Entra sends booleans as `True` and `False`. */
function readActive(value: unknown): boolean | ScimRefused {
  const text = typeof value === 'string' ? value.toLowerCase() : value
  if (text === true || text === 'true') return true
  return text === false || text === 'false' ? false : invalid('active must be true or false.')
}

const USER_TEXTS: ReadonlyMap<string, 'externalId' | 'givenName' | 'familyName' | 'displayName'> = new Map([
  ['externalid', 'externalId'],
  ['name.givenname', 'givenName'],
  ['name.familyname', 'familyName'],
  ['displayname', 'displayName'],
])

/** Sets one attribute. Attributes that this server does not keep are ignored, as RFC 7644 section 3.3 allows. */
function setUser(terms: UserTerms, name: string, value: unknown): ScimRefused | undefined {
  if (name === 'name' && isFields(value)) {
    for (const [part, each] of byName(value)) {
      const refused = setUser(terms, `name.${part}`, each)
      if (refused !== undefined) return refused
    }
    return undefined
  }
  if (name === 'active') {
    const active = readActive(value)
    if (typeof active !== 'boolean') return active
    terms.active = active
    return undefined
  }
  if (name === 'username') {
    const text = readText('userName', value)
    if (typeof text !== 'string' || text.length > 254 || !/^[^\s@]+@[^\s@]+$/.test(text))
      return typeof text === 'object' && text !== null ? text : invalid('userName must be an email address.')
    terms.userName = text.toLowerCase()
    return undefined
  }
  const known = USER_TEXTS.get(name)
  if (known === undefined) return undefined
  const text = readText(known, value)
  if (text !== null && typeof text !== 'string') return text
  terms[known] = text
  return undefined
}

/** The body of a creation or of a replacement. */
export function readUser(body: unknown): UserTerms | ScimRefused {
  if (!isFields(body)) return syntax('The body must be a JSON object.')
  const terms: UserTerms = {}
  for (const [name, value] of byName(body)) {
    const refused = setUser(terms, name, value)
    if (refused !== undefined) return refused
  }
  return terms
}

interface PatchOperation {
  readonly op: 'add' | 'replace' | 'remove'
  /** Empty: the value is an object of attributes. */
  readonly path: string
  readonly value: unknown
}

/** Microsoft Entra writes `Replace`; names of the message are read without regard to case. */
function readOperations(body: unknown): readonly PatchOperation[] | ScimRefused {
  const sent = isFields(body) ? byName(body).get('operations') : undefined
  if (!Array.isArray(sent) || sent.length === 0) return syntax('A PATCH has a list of Operations.')
  if (sent.length > OPERATIONS_MAX) return invalid(`A PATCH has at most ${OPERATIONS_MAX} Operations.`)
  const operations: PatchOperation[] = []
  for (const each of sent) {
    const fields = isFields(each) ? byName(each) : new Map<string, unknown>()
    const op = String(fields.get('op')).toLowerCase()
    const path = fields.get('path') ?? ''
    if (op !== 'add' && op !== 'replace' && op !== 'remove') return syntax('op must be add, replace or remove.')
    if (typeof path !== 'string' || path.length > TEXT_MAX)
      return refuseScim(400, 'path must be a short text.', 'invalidPath')
    if (op === 'remove' && path === '') return refuseScim(400, 'A removal names its path.', 'noTarget')
    operations.push({ op, path: path.trim(), value: fields.get('value') })
  }
  return operations
}

export function readUserPatch(body: unknown): UserTerms | ScimRefused {
  const operations = readOperations(body)
  if ('kind' in operations) return operations
  const terms: UserTerms = {}
  for (const { op, path, value } of operations) {
    if (path === '') {
      if (!isFields(value)) return syntax('An operation without a path has an object as its value.')
      for (const [name, each] of byName(value)) {
        const refused = setUser(terms, name, each)
        if (refused !== undefined) return refused
      }
      continue
    }
    const name = nameOf(path)
    if (op === 'remove' && (name === 'active' || name === 'username'))
      return refuseScim(400, `${path} cannot be removed.`, 'mutability')
    const parts = op === 'remove' && name === 'name' ? { givenName: null, familyName: null } : value
    const refused = setUser(terms, name, op === 'remove' && name !== 'name' ? null : parts)
    if (refused !== undefined) return refused
  }
  return terms
}

/** `[{ "value": "usr_…" }]`, or one of them. */
function readMembers(value: unknown): readonly string[] | ScimRefused {
  const list = Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]
  if (list.length > MEMBERS_MAX) return invalid(`One list names at most ${MEMBERS_MAX} members.`)
  const ids = list.map((each) => (isFields(each) ? byName(each).get('value') : each))
  return ids.every((id): id is string => typeof id === 'string' && id.length <= 80)
    ? [...new Set(ids)]
    : invalid('members must be a list of objects whose value is the id of a user.')
}

function setGroup(terms: GroupTerms, name: string, value: unknown): ScimRefused | undefined {
  if (name !== 'displayname' && name !== 'externalid') return undefined
  const text = readText(name === 'displayname' ? 'displayName' : 'externalId', value)
  if (text !== null && typeof text !== 'string') return text
  if (name === 'externalid') terms.externalId = text
  else if (text === null || text === '' || text.length > GROUP_NAME_MAX)
    return invalid(`displayName must have 1 to ${GROUP_NAME_MAX} characters.`)
  else terms.displayName = text
  return undefined
}

/** As long as the name of a team. */
const GROUP_NAME_MAX = 100

/** The body of a creation or of a replacement, which names all members. */
export function readGroup(body: unknown): GroupChange | ScimRefused {
  if (!isFields(body)) return syntax('The body must be a JSON object.')
  const terms: GroupTerms = {}
  const fields = byName(body)
  for (const [name, value] of fields) {
    const refused = setGroup(terms, name, value)
    if (refused !== undefined) return refused
  }
  const ids = readMembers(fields.get('members'))
  return 'kind' in ids ? ids : { terms, members: [{ kind: 'set', ids }] }
}

/** `members[value eq "usr_…"]`, as Okta removes one. */
const ONE_MEMBER = /^members\[\s*value\s+eq\s+"([^"\\]{1,80})"\s*\]$/i

export function readGroupPatch(body: unknown): GroupChange | ScimRefused {
  const operations = readOperations(body)
  if ('kind' in operations) return operations
  const terms: GroupTerms = {}
  const members: MemberChange[] = []
  for (const { op, path, value } of operations) {
    const [, one] = ONE_MEMBER.exec(path) ?? []
    const fields = path === '' && isFields(value) ? byName(value) : new Map([[nameOf(path), value]])
    if (path === '' && !isFields(value)) return syntax('An operation without a path has an object as its value.')
    if (one !== undefined) {
      if (op !== 'remove') return refuseScim(400, 'One member can only be removed by its path.', 'invalidPath')
      members.push({ kind: 'remove', ids: [one] })
      continue
    }
    for (const [name, each] of fields) {
      const refused = name === 'members' ? pushMembers(members, op, each) : setGroup(terms, name, each ?? null)
      if (refused !== undefined) return refused
    }
  }
  return { terms, members }
}

/** A removal without a value takes away all members. */
function pushMembers(members: MemberChange[], op: PatchOperation['op'], value: unknown): ScimRefused | undefined {
  const ids = readMembers(value)
  if ('kind' in ids) return ids
  if (op === 'replace' || (op === 'remove' && value === undefined)) members.push({ kind: 'set', ids })
  else members.push({ kind: op, ids })
  return undefined
}

/** Which of the members a group has after these changes. */
export function membersAfter(before: readonly string[], changes: readonly MemberChange[]): ReadonlySet<string> {
  let after = new Set(before)
  for (const { kind, ids } of changes) {
    if (kind === 'set') after = new Set(ids)
    else for (const id of ids) kind === 'add' ? after.add(id) : after.delete(id)
  }
  return after
}

/** `userName eq "ann@example.com"`: the one form of filters that directories use to find a resource. */
export function readFilter(
  filter: string | undefined,
  attributes: readonly string[],
): { readonly attribute: string; readonly value: string } | ScimRefused | undefined {
  if (filter === undefined || filter.trim() === '') return undefined
  const [, name = '', value = ''] = /^\s*([\w.:]+)\s+eq\s+("(?:[^"\\]|\\.)*")\s*$/i.exec(filter) ?? []
  const attribute = attributes.find((each) => each.toLowerCase() === nameOf(name))
  const text = readJsonText(value)
  if (attribute !== undefined && text !== undefined) return { attribute, value: text }
  return refuseScim(
    400,
    `The filter must be one of these, with eq and a text: ${attributes.join(', ')}.`,
    'invalidFilter',
  )
}

function readJsonText(written: string): string | undefined {
  try {
    return String(JSON.parse(written))
  } catch {
    return undefined
  }
}

const COUNT_MAX = 200
const COUNT = 100

/** Numbers that are out of range become the nearest, as RFC 7644 section 3.4.2.4 says. */
export function readPageOf(query: (name: string) => string | undefined) {
  const number = (name: string, fallback: number) => {
    const sent = query(name)
    return sent !== undefined && /^-?\d{1,9}$/.test(sent) ? Number(sent) : fallback
  }
  const startIndex = Math.max(1, number('startIndex', 1))
  return { startIndex, skip: startIndex - 1, limit: Math.min(COUNT_MAX, Math.max(0, number('count', COUNT))) }
}
