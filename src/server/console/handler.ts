import type { z } from 'zod'
import { actorLogOf } from '../../admin/audit.ts'
import type { KeyScope } from '../../admin/keys.ts'
import type { OperationRefused, Outcome } from '../../admin/outcome.ts'
import type { OwnerServices } from '../../admin/services.ts'
import type { Session, SignedIn } from '../../admin/sessions.ts'
import type { SignOn } from '../../admin/sign-on.ts'
import type { AnswerOf, CONSOLE_API, RouteName } from '../../contract/console-api.ts'
import type { AnyRoute, ParamsOf, Requester } from '../../contract/values.ts'
import type { MemberRole } from '../../db/people-tables.ts'
import type { RequestFacts } from '../../telemetry/log.ts'
import type { FileReply, InputOf, ReadOnly } from '../route-replies.ts'
import type { Site } from './site.ts'

/** A request of the console, before it is authorized. */
export interface ConsoleRequest {
  readonly requestId: string
  readonly site: Site
  /** Undefined once the connection has closed. */
  readonly address: string | undefined
  readonly agent: string
  /** Whether the method changes something. */
  readonly changes: boolean
  readonly csrfToken: string | string[] | undefined
  /** The device cookie of earlier sign-ins. */
  readonly deviceTokens: string | undefined
  readonly signedIn: SignedIn | undefined
  /** Fields of the log line. */
  readonly log: RequestFacts
}

export interface SignedInRequest extends ConsoleRequest {
  readonly signedIn: SignedIn
  readonly session: Session
  /** Whether the password was confirmed within the last minutes. */
  readonly isConfirmed: boolean
}

/** By a person with an account. */
export interface AccountRequest extends SignedInRequest {
  readonly account: NonNullable<Session['account']>
  readonly role: MemberRole
  /** The keys that they may see, with what those did. */
  readonly scope: KeyScope
}

/** The request that a handler gets, by the requester of its route. */
export interface RequestAs extends Record<Requester, ConsoleRequest> {
  readonly anyone: ConsoleRequest
  readonly 'signed-in': SignedInRequest
  readonly 'any-role': AccountRequest
  readonly viewer: AccountRequest
  readonly member: AccountRequest
  readonly admin: AccountRequest
  readonly owner: AccountRequest
  readonly operator: SignedInRequest
}

type Api = typeof CONSOLE_API

type Input<Name extends RouteName> = InputOf<Api[Name], ParamsOf<Name>>

/** A route: its requester and the schemas of its input. */
export interface RouteOf<Name extends RouteName> extends Pick<AnyRoute, 'confirmed' | 'withoutFactor'> {
  readonly who: Api[Name]['who']
  readonly query: z.ZodType<Input<Name>['query']>
  readonly body: z.ZodType<Input<Name>['body']>
}

/** Success that starts or ends the session of the browser. */
interface SessionReply<Value> {
  readonly kind: 'session'
  readonly secret: string | undefined
  /** The new device cookie; undefined when it does not change. */
  readonly deviceTokens: string | undefined
  readonly value: Value
}

export type Reply<Value> = Outcome<Value> | SessionReply<Value>

export type AnyReply = Reply<unknown> | FileReply

type ReplyOf<Name extends RouteName> =
  AnswerOf<Name> extends string ? FileReply | OperationRefused : Reply<ReadOnly<AnswerOf<Name>>>

type Handler<Name extends RouteName> = (
  request: RequestAs[Api[Name]['who']],
  input: Input<Name>,
) => Promise<ReplyOf<Name>>

/** One handler for each route of the contract. */
export type Handlers = { readonly [Name in RouteName]: Handler<Name> }

/** The services of the use cases behind the console. */
export interface ConsoleServices extends OwnerServices {
  readonly version: string
  /** The base URL for clients, seen from the browser's origin. */
  readonly baseUrl: (origin: string) => string
  /** Single sign-on. */
  readonly signOn: SignOn
}

/** The audit log records what the use cases do as done by this person. */
export const withActor = ({ session }: SignedInRequest, services: ConsoleServices): ConsoleServices => ({
  ...services,
  auditLog: actorLogOf(services.people.audit, session.person.email),
})
