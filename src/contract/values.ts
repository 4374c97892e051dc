import { z } from 'zod'
import { readNetwork } from '../lib/anywhere/networks.ts'
import { describeUnseen, findUnseen } from '../lib/text.ts'

/** For routes without a body or a query. */
export const nothing = z.strictObject({})

/** A decimal string in USD with at most nine decimals; negative if money was taken out. */
export const money = z.string().regex(/^-?\d+\.\d{2,9}$/)
export const moneyOrNull = money.nullable()
/** ISO 8601 in UTC. */
export const time = z.iso.datetime()
export const timeOrNull = time.nullable()
export const count = z.int().nonnegative()
export const keyKind = z.enum(['wallet', 'builder'])

/** `next` is the `after` of the next page; null at the end. */
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({ items: z.array(item), next: z.string().nullable() })

const LIMIT_MAX = 200
const PAGE_LIMIT = 50

/** `after` is the `next` of the page before. Numbers in an HTTP query are text. */
export const pageQuery = z.strictObject({
  after: z
    .string()
    .max(320)
    .regex(/^[\x21-\x7e]+$/, 'is not the next of a page')
    .optional(),
  limit: z.coerce.number<number>().int().min(1).max(LIMIT_MAX).default(PAGE_LIMIT),
})
export type PageQuery = z.output<typeof pageQuery>

/** Refuses invisible characters, which could make two names look equal or control a terminal. */
const visible = (text: z.ZodString): z.ZodString =>
  text.refine((value) => findUnseen(value) === undefined, { error: ({ input }) => describeUnseen(String(input)) })

/** Non-empty text of limited length. */
export const line = (charactersMax: number) => note(charactersMax).min(1, 'is empty')

/** Text of limited length, possibly empty. */
export const note = (charactersMax: number) =>
  visible(z.string().trim().max(charactersMax, `is longer than ${charactersMax} characters`))

/** An id or an email. */
export const named = line(320)

/** Checks the shape only; `root@localhost` is valid. Normalized, so that two spellings of one address are one account. */
export const email = visible(z.string().trim().toLowerCase()).refine(
  (address) => address.length <= 254 && /^[^\s@]+@[^\s@]+$/.test(address),
  'must be an email address, such as name@example.com',
)

/** An IP address or a network in CIDR notation, in its one spelling. */
export const network = z
  .string()
  .max(50)
  .overwrite((text) => readNetwork(text) ?? text)
  .refine((text) => readNetwork(text) !== undefined, 'must be an IP address or a network, such as 203.0.113.0/24')

/** An amount of USD as text, because a JSON number may be rounded. */
export const amount = z.string().max(30)

/** A time in the future: a date (`2027-01-31`) or a span (`30d`, `12h`). */
export const moment = z.string().max(40)

/**
 * Who may call a route. `anyone` needs no session. `any-role` to `owner` are people with an account: see `ROLES_OF`. An
 * operator sees all accounts.
 */
export type Requester = 'anyone' | 'signed-in' | AccountRequester | 'operator'
type AccountRequester = 'any-role' | 'viewer' | 'member' | 'admin' | 'owner'

/**
 * The roles in an account that may call a route. A viewer sees everything and changes nothing; a member has keys, and sees
 * only those and what they did, also where any role may ask. An operator with an account is as its owner.
 */
export const ROLES_OF = {
  'any-role': ['viewer', 'member', 'admin', 'owner'],
  viewer: ['viewer', 'admin', 'owner'],
  member: ['member', 'admin', 'owner'],
  admin: ['admin', 'owner'],
  owner: ['owner'],
} as const satisfies Record<AccountRequester, readonly string[]>

/**
 * A route of the console API, relative to `/console/api`; `:name` in its path is an id. The schemas check the input and type
 * the answer on both sides.
 */
export interface Route<
  Who extends Requester,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Answer extends z.ZodType,
> {
  readonly who: Who
  /** Needs a recently confirmed password. `to-widen`: only if a key gains rights. */
  readonly confirmed: boolean | 'to-widen'
  /**
   * What a person may do who has not given the second factor that they need. `enrols`: only while they have none. All other routes are
   * refused.
   */
  readonly withoutFactor?: 'allowed' | 'enrols'
  readonly query: Query
  readonly body: Body
  readonly answer: Answer
}

export type AnyRoute = Route<Requester, z.ZodType, z.ZodType, z.ZodType>

/** The ids in the path: `GET /keys/:key` has a `key`. */
export type ParamsOf<Path extends string> = Record<NamesIn<Path>, string>
type NamesIn<Path extends string> = Path extends `${string}:${infer Rest}`
  ? Rest extends `${infer One}/${infer More}`
    ? One | NamesIn<More>
    : Rest
  : never

/** The console translates known codes and shows `message` for others. */
export interface ConsoleError {
  readonly error: {
    readonly code: string
    readonly message: string
    /** The invalid field of the body or the query. */
    readonly param: string | null
    readonly request_id: string
    /** Whole seconds, if a later retry helps. */
    readonly retry_after: number | null
  }
}
