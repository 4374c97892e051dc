import type { z } from 'zod'
import { actorLogOf } from '../../admin/audit.ts'
import type { OperationRefused, Outcome } from '../../admin/outcome.ts'
import type { OwnerServices } from '../../admin/services.ts'
import type { Session, SignedIn } from '../../admin/sessions.ts'
import type { AnswerOf, CONSOLE_API, ParamsOf, RouteName } from '../../contract/console-api.ts'
import type { AnyRoute, Requester } from '../../contract/values.ts'
import type { RequestFacts } from '../../telemetry/log.ts'
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
export interface OwnerRequest extends SignedInRequest {
  readonly account: NonNullable<Session['account']>
}

/** The request that a handler gets, by the requester of its route. */
export interface RequestAs extends Record<Requester, ConsoleRequest> {
  readonly anyone: ConsoleRequest
  readonly 'signed-in': SignedInRequest
  readonly owner: OwnerRequest
  readonly operator: SignedInRequest
}

type Api = typeof CONSOLE_API

/** The input, read by the schemas of its route. */
export interface InputOf<Route extends Pick<AnyRoute, 'query' | 'body'>, Params> {
  readonly params: Params
  readonly query: z.output<Route['query']>
  readonly body: z.output<Route['body']>
}

type Input<Name extends RouteName> = InputOf<Api[Name], ParamsOf<Name>>

/** A route: its requester and the schemas of its input. */
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

/** Views are made of read-only values. */
export type ReadOnly<Value> = Value extends readonly (infer Item)[]
  ? readonly ReadOnly<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: ReadOnly<Value[Key]> }
    : Value

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
}

/** The audit log records what the use cases do as done by this person. */
export const withActor = ({ session }: SignedInRequest, services: ConsoleServices): ConsoleServices => ({
  ...services,
  auditLog: actorLogOf(services.people.audit, session.person.email),
})
