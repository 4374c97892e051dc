import { z } from 'zod'
import type { Outcome } from '../account/outcome.ts'

/**
 * One JSON object a line, in both directions: what a command of the operator asks of the running server. Both ends say
 * their version, because a command of one version must not guess what a server of another means.
 */
export const adminRequest = z.strictObject({
  version: z.string(),
  operation: z.string(),
  args: z.unknown(),
})

export type AdminRequest = z.infer<typeof adminRequest>

export type AdminAnswer =
  | { readonly version: string; readonly kind: 'answered'; readonly outcome: Outcome<unknown> }
  | { readonly version: string; readonly kind: 'other-version' }
  | { readonly version: string; readonly kind: 'malformed'; readonly message: string }
  | { readonly version: string; readonly kind: 'failed'; readonly message: string }

export const ADMIN_BOUNDS = {
  /** The largest honest request is a key's list of models. */
  requestBytesMax: 1024 * 1024,
  /** A list of every account of a large installation. */
  answerBytesMax: 256 * 1024 * 1024,
  /** One operator and a few scripts at once. */
  connectionsMax: 32,
  /** A connection that says nothing for so long is closed. */
  idleTimeoutMs: 30_000,
  /** Verifying large books takes its time. */
  answerTimeoutMs: 10 * 60_000,
} as const

export type AdminBounds = { readonly [Name in keyof typeof ADMIN_BOUNDS]: number }
