import type { Refused } from './outcome.ts'
import { readCursor, writeCursor } from './page-cursor.ts'

/** Where a page of requests ends: among those that run, by their rows, or among those that have ended, by their numbers. */
export type RequestCursor =
  | { readonly among: 'running'; readonly row: number }
  | { readonly among: 'ended'; readonly movement: number }

const RUNNING = 'r.'

export function writeRequestCursor(cursor: RequestCursor | null): string | null {
  if (cursor?.among === 'running') return `${RUNNING}${writeCursor(cursor.row)}`
  return writeCursor(cursor?.movement ?? null)
}

/** Undefined for no cursor: the first page. */
export function readRequestCursor(text: string | undefined): RequestCursor | undefined | Refused {
  const isRunning = text?.startsWith(RUNNING) === true
  const number = readCursor(isRunning ? text.slice(RUNNING.length) : text)
  if (typeof number !== 'number') return number
  return isRunning ? { among: 'running', row: number } : { among: 'ended', movement: number }
}
