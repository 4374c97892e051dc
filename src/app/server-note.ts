import { readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { z } from 'zod'
import type { ServerStatus } from '../admin/server-status.ts'
import type { ServeOptions, Terminal } from '../cli/cli-services.ts'
import { configPathOf, type LoadedConfig, type SettingsOutcome } from '../config/load-config.ts'
import type { ManagedEntry } from '../contract/managed.ts'
import { shellWord } from '../lib/anywhere/text.ts'
import type { Closing } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'
import { writePrivately } from '../lib/files.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import { placeAdminSocket, removeStaleSocket } from './admin-socket.ts'
import type { App, OpenApp, Serving } from './app.ts'
import { nodeFolderOf } from './data-folder.ts'
import type { Faults, Signals } from './process.ts'
import type { WorkerLink } from './worker-link.ts'

const serverFacts = z.object({
  pid: z.number().int().positive(),
  /** Without a path, e.g. `http://127.0.0.1:4600`; null while the server is starting. */
  url: z.string().nullable(),
  version: z.string(),
  socket: z.string(),
  /** The configuration file that it was started with; null for none. Earlier versions do not write it. */
  config: z.string().nullable().optional(),
})

/** The content of `server.json`, for commands that look for a running server. */
type ServerFacts = z.infer<typeof serverFacts>

export interface ServerNote {
  /** The path of the admin socket. */
  readonly socket: string
  write(url: string | null): Promise<void>
}

const pathIn = (data: string): string => join(data, 'server.json')

/** Writes `server.json` at once, so that a process that finds the folder locked can name the holder. */
export async function openServerNote({ version, pid, settings, worker, closing }: StartContext): Promise<ServerNote> {
  const data = nodeFolderOf(settings.config.storage.data, worker)
  const stale = await readServerNote(data)
  if (stale !== undefined) await removeStaleSocket(data, stale.socket)
  const place = await placeAdminSocket(data)
  closing.add(() => place.remove())
  const write = (url: string | null) => {
    const facts: ServerFacts = { pid, url, version, socket: place.path, config: configPathOf(settings) ?? null }
    return writePrivately(pathIn(data), `${JSON.stringify(facts)}\n`)
  }
  closing.add(() => rm(pathIn(data), { force: true }))
  await write(null)
  return { socket: place.path, write }
}

/** Undefined when there is no note, or none that can be read. */
export async function readServerNote(data: string): Promise<ServerFacts | undefined> {
  try {
    return serverFacts.parse(JSON.parse(await readFile(pathIn(data), 'utf8')))
  } catch {
    return undefined
  }
}

/** The note of a server whose process is alive. */
export async function findRunningServer(data: string): Promise<ServerFacts | undefined> {
  const server = await readServerNote(data)
  return server !== undefined && isAlive(server.pid) ? server : undefined
}

/** Whether a server listens in this folder. On PostgreSQL there is no file whose lock says so. */
export async function isServed(data: string): Promise<boolean> {
  // Its process tells less: of workers that end without their supervisor it is another one, and an id may be used again.
  const server = await readServerNote(data)
  if (server === undefined) return false
  return new Promise((resolve) => {
    const socket = connect(server.socket)
    const end = (isThere: boolean) => () => {
      socket.destroy()
      resolve(isThere)
    }
    socket.once('connect', end(true))
    socket.once('error', end(false))
  })
}

/** Names the process that has locked the data folder. */
export async function describeHolder(data: string, program: string): Promise<string> {
  const server = await findRunningServer(data)
  const holder =
    server !== undefined
      ? `pid ${server.pid} (millrace ${server.version}${server.url === null ? ', starting' : `, ${server.url}`})`
      : 'another process'
  return `The data folder ${data} is in use by ${holder}. To see it: ${program} status --data ${shellWord(data)}. To use another folder: --data`
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // The process exists and belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

export interface ServeDeps {
  readonly version: string
  readonly node: string
  /** The process that signals go to: of a server with workers, their supervisor. */
  readonly pid: number
  /** Undefined in a server of one process, and in the supervisor. */
  readonly worker?: WorkerLink | undefined
  /** The command that starts this program in a shell. */
  readonly program: string
  readonly clock: Clock
  readonly random: RandomBytes
  readonly terminal: Terminal
  readonly faults: Faults
  readonly loadSettings: (options: ServeOptions, managed?: readonly ManagedEntry[]) => SettingsOutcome
  readonly openApp: OpenApp
  /** Takes over SIGINT and SIGTERM. */
  readonly openSignals: () => Signals
}

/** A server that has locked its data folder. */
export interface StartContext extends ServeDeps {
  readonly options: ServeOptions
  readonly settings: LoadedConfig
  readonly app: App
  readonly closing: Closing
  readonly status: () => ServerStatus
}

/** A server that listens. */
export interface ServeContext extends StartContext {
  readonly serving: Serving
  readonly url: string
  readonly metricsUrl: string | undefined
  readonly startedAt: number
}
