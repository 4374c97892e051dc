import { afterAll, expect, vi } from 'vitest'

/**
 * A file shares its process with those that come after it: what it opened has to be closed, and what it changed around
 * itself put back. Otherwise another file fails, or passes, for a reason that is not in it.
 */
const KINDS = ['TCPServerWrap', 'TCPSocketWrap', 'ProcessWrap'] as const
const EVENTS = ['exit', 'uncaughtException', 'unhandledRejection', 'SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** Sockets and processes end when the other side has heard of it. */
const PATIENCE_MS = 20_000

const openHandles = () => process.getActiveResourcesInfo().filter((kind) => KINDS.some((each) => each === kind))

/** Not what was open already: that is said of the file before, and of no other. */
function leftOpen(): string[] {
  const left = openHandles()
  for (const kind of openBefore) if (left.includes(kind)) left.splice(left.indexOf(kind), 1)
  return left
}

const surroundings = () => ({
  listeners: EVENTS.map((name) => `${name}: ${process.listenerCount(name)}`),
  environment: { ...process.env },
  folder: process.cwd(),
  fetch: globalThis.fetch,
  clock: globalThis.Date,
  timer: globalThis.setTimeout,
})

const openBefore = openHandles()
const before = surroundings()

// Registered before those of the file, and of the other files for all walks: so it is the last to look.
afterAll(async () => {
  await vi.waitFor(() => expect(leftOpen(), 'what this file has left open').toEqual([]), { timeout: PATIENCE_MS })
  expect(surroundings(), 'what this file has changed around it').toEqual(before)
})
