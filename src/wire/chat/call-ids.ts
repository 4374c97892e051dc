import { createHash } from 'node:crypto'
import type { ChatDialect } from './dialects.ts'

const NINE_LETTERS = /^[A-Za-z0-9]{9}$/

/** The id of a tool call as a server takes it: the same one for a call and its result, and in every later request. */
export function callIdFor(callId: string, dialect: ChatDialect): string {
  if (dialect.callIds === 'any' || NINE_LETTERS.test(callId)) return callId
  const letters = createHash('sha256')
    .update(callId)
    .digest('base64')
    .replace(/[^A-Za-z0-9]/g, '')
  return letters.slice(0, 9).padEnd(9, '0')
}
