import type { ProblemCode } from '../../../src/model/problem.ts'
import type { FaultName } from '../../fakes/faults.ts'

/** What is charged. `docs/operate/faults.md` says the same in words. */
export type Charge =
  | 'free'
  /** The estimate of the input, and the output that the client received. */
  | 'produced'
  /** What the provider counted. */
  | 'reported'
  /** As much as the request could physically use. */
  | 'bounded'

export type Cell =
  /** The client has a whole answer. */
  | { readonly kind: 'whole'; readonly charge: Exclude<Charge, 'free'> }
  /** Status and body of an error; nothing of an answer has gone out. */
  | {
      readonly kind: 'refused'
      readonly code: ProblemCode
      readonly another: 'next lane' | 'no other lane'
      readonly retryAfter?: string
    }
  /** An error frame after content, and the end without `[DONE]`. No other lane any more. */
  | { readonly kind: 'broken'; readonly code: ProblemCode; readonly charge: Exclude<Charge, 'free'> }

/** How patient the configuration is with the provider, and where its address leads. */
export type UpstreamName =
  | 'patient'
  | 'refusing'
  | 'nameless'
  | 'untrusted'
  | 'unconnected'
  | 'brief-first-byte'
  | 'brief-json-answer'
  | 'brief-idle'
  | 'brief-no-progress'
  | 'brief-total'

export interface FaultRow {
  /** What the provider does, for the page. */
  readonly description: string
  readonly fault: FaultName
  readonly upstream?: UpstreamName
  /** A JSON answer of which nothing has come, and one whose first half has. */
  readonly jsonBefore?: Cell
  readonly jsonAfter?: Cell
  /** A stream before its first content, and after it. */
  readonly streamBefore?: Cell
  readonly streamAfter?: Cell
  /** More fields of the request, where the fault needs them. */
  readonly sends?: object
  /** What the client reads, where it is not the usual answer. */
  readonly text?: string
}

export const refused = (code: ProblemCode, retryAfter = '1'): Cell => ({
  kind: 'refused',
  code,
  another: 'next lane',
  retryAfter,
})
export const clients = (code: ProblemCode): Cell => ({ kind: 'refused', code, another: 'no other lane' })
export const broken = (code: ProblemCode, charge: 'produced' | 'reported' | 'bounded' = 'produced'): Cell => ({
  kind: 'broken',
  code,
  charge,
})
export const whole = (charge: 'produced' | 'reported' | 'bounded'): Cell => ({ kind: 'whole', charge })

export const OVERLOADED = refused('server_is_overloaded')
/** Its client is told no time to come back. */
export const MISCONFIGURED = refused('provider_misconfigured', '')
export const TIMED_OUT = refused('upstream_timeout')

/** The same for both kinds of answers, before anything of them has come. */
export const atOnce = (cell: Cell) => ({ jsonBefore: cell, streamBefore: cell })
export const everywhere = (before: Cell, after: Cell) => ({
  jsonBefore: before,
  jsonAfter: before,
  streamBefore: before,
  streamAfter: after,
})
export const throttled = (retryAfter: string) => atOnce(refused('upstream_busy', retryAfter))
export const survived = (charge: 'produced' | 'reported' | 'bounded') => ({
  jsonBefore: whole(charge),
  streamBefore: whole(charge),
})
