import type { z } from 'zod'
import { type ActorLog, actorLogOf } from '../../admin/audit.ts'
import type { ListOwnKeysDeps } from '../../admin/key-views.ts'
import type { OfferedModelsDeps } from '../../admin/models.ts'
import type { OperationDeps } from '../../admin/operations.ts'
import type { Outcome, Refused } from '../../admin/outcome.ts'
import type { PeopleDeps, Session } from '../../admin/people-deps.ts'
import type { SignedIn } from '../../admin/sessions.ts'
import type { OverviewDeps, UsageOverviewDeps } from '../../admin/usage-overview.ts'
import type { AnswerOf, CONSOLE_API, ParamsOf, RouteName } from '../../contract/console-api.ts'
import type { AnyRoute, Requester } from '../../contract/values.ts'
import type { Site } from './site.ts'

/** What is known of whoever asks, before it is judged whether they may. */
export interface Asking {
  readonly requestId: string
  readonly site: Site
  /** Undefined once the connection has gone. */
  readonly address: string | undefined
  readonly agent: string
  /** Whether it is to change something. */
  readonly changes: boolean
  /** What a page of a session sends with every change. */
  readonly csrfToken: string | string[] | undefined
  /** What this browser has kept from earlier sign-ins. */
  readonly deviceTokens: string | undefined
  readonly signedIn: SignedIn | undefined
  /** What the log line will say. */
  readonly log: Record<string, unknown>
}

/** Somebody, with the secret that their browser sends. */
export interface AskingPerson extends Asking {
  readonly signedIn: SignedIn
  readonly session: Session
  /** Whether the password was given within the last minutes. */
  readonly isConfirmed: boolean
}

/** Somebody with keys and money of their own. */
export interface AskingOwner extends AskingPerson {
  readonly account: NonNullable<Session['account']>
}

/** As whom each kind of asker comes to a handler, when it was judged that they may. */
export interface AskingAs extends Record<Requester, Asking> {
  readonly anyone: Asking
  readonly 'signed-in': AskingPerson
  readonly owner: AskingOwner
  readonly operator: AskingPerson
}

type Api = typeof CONSOLE_API

/** What came in, read by the schemas of its route. */
export interface Input<Name extends RouteName> {
  readonly params: ParamsOf<Name>
  readonly query: z.output<Api[Name]['query']>
  readonly body: z.output<Api[Name]['body']>
}

/** A route by what is known of its name: who may ask it, and what comes in by it. */
export interface RouteOf<Name extends RouteName> extends Pick<AnyRoute, 'confirmed'> {
  readonly who: Api[Name]['who']
  readonly query: z.ZodType<Input<Name>['query']>
  readonly body: z.ZodType<Input<Name>['body']>
}

/** A file that is made while it is sent. */
export interface FileReply {
  readonly kind: 'file'
  readonly name: string
  readonly pieces: AsyncIterable<string> | Iterable<string>
}

/** Done, and from now on the browser has this session, or none. */
interface SessionReply<Value> {
  readonly kind: 'session'
  readonly secret: string | undefined
  /** What it shall keep to be known by at the next sign-in; undefined where that does not change. */
  readonly deviceTokens: string | undefined
  readonly value: Value
}

export type Reply<Value> = Outcome<Value> | SessionReply<Value>

export type AnyReply = Reply<unknown> | FileReply

/** What is told is only read from here on, and views are made of what may not be written to. */
type Told<Value> = Value extends readonly (infer Item)[]
  ? readonly Told<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: Told<Value[Key]> }
    : Value

/** A file says nothing of its own shape. */
type ReplyOf<Name extends RouteName> = AnswerOf<Name> extends string ? FileReply | Refused : Reply<Told<AnswerOf<Name>>>

type Handler<Name extends RouteName> = (
  asking: AskingAs[Api[Name]['who']],
  input: Input<Name>,
) => Promise<ReplyOf<Name>>

/** One for each route of the contract, so that none can be forgotten. */
export type Handlers = { readonly [Name in RouteName]: Handler<Name> }

/** All that the use cases behind the console ask for, but for the hand of whoever acts. */
export interface ConsoleServices
  extends Omit<OperationDeps, 'trail'>,
    ListOwnKeysDeps,
    OfferedModelsDeps,
    OverviewDeps,
    UsageOverviewDeps {
  readonly db: OperationDeps['db']
  readonly clock: OperationDeps['clock']
  readonly ledger: OperationDeps['ledger'] & ListOwnKeysDeps['ledger'] & OverviewDeps['ledger']
  readonly catalog: OperationDeps['catalog']
  readonly health: OperationDeps['health'] & OfferedModelsDeps['health']
  readonly people: PeopleDeps
  readonly version: string
  /** What clients put in as base URL, seen from where the browser is. */
  readonly baseUrl: (origin: string) => string
}

/** The house in the hand of somebody: what they do with it stands in the trail as theirs. */
export const withActor = (
  { session }: AskingPerson,
  house: ConsoleServices,
): ConsoleServices & { readonly auditLog: ActorLog } => ({
  ...house,
  auditLog: actorLogOf(house.people.audit, session.person.email),
})
