import { z } from 'zod'
import type { Outcome } from '../../account/outcome.ts'

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
  /** A page of keys, each with the longest list of models. */
  answerBytesMax: 256 * 1024 * 1024,
  /** One operator and a few scripts at once. */
  connectionsMax: 32,
  /** A connection that says nothing for so long is closed. */
  idleTimeoutMs: 30_000,
  /** Verifying large books takes its time. */
  answerTimeoutMs: 10 * 60_000,
} as const

export type AdminBounds = { readonly [Name in keyof typeof ADMIN_BOUNDS]: number }

export type LineRead = { readonly kind: 'lines'; readonly lines: readonly string[] } | { readonly kind: 'too-long' }

export interface LineReader {
  read(chunk: Buffer): LineRead
}

/** Cuts bytes into lines. A line that outgrows the bound is reported before it is kept, so memory stays bounded. */
export function createLineReader(lineBytesMax: number): LineReader {
  let parts: Buffer[] = []
  let size = 0
  return {
    read(chunk) {
      const lines: string[] = []
      let start = 0
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
        const last = chunk.subarray(start, end)
        if (size + last.length > lineBytesMax) return { kind: 'too-long' }
        lines.push(Buffer.concat([...parts, last]).toString('utf8'))
        parts = []
        size = 0
        start = end + 1
      }
      const rest = chunk.subarray(start)
      if (size + rest.length > lineBytesMax) return { kind: 'too-long' }
      if (rest.length > 0) parts.push(rest)
      size += rest.length
      return { kind: 'lines', lines }
    },
  }
}
