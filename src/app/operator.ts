import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import type { OperationArgs, OperationName, OperationValue } from '../admin/operations.ts'
import type { ServerStatus } from '../admin/server-status.ts'
import { EXIT, type OfWorker, type Operator, type OperatorAnswer, type Place } from '../cli/cli-services.ts'
import type { LoadedConfig, SettingsOutcome } from '../config/load-config.ts'
import type { ManagedEntry } from '../contract/managed.ts'
import type { Clock } from '../lib/clock.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import { assertNever } from '../lib/types.ts'
import { ADMIN_BOUNDS, type AdminAnswer, type AdminRequest, createLineReader } from './admin-socket.ts'
import type { OpenApp } from './app.ts'
import { hasLedger, listQuarantined, nodeFolderOf } from './data-folder.ts'
import { describeHolder, readServerNote } from './server-note.ts'

interface OperatorDeps {
  readonly version: string
  readonly node: string
  /** The command that starts this program in a shell. */
  readonly program: string
  readonly clock: Clock
  readonly random: RandomBytes
  readonly loadSettings: (place: Place, managed?: readonly ManagedEntry[]) => SettingsOutcome
  readonly openApp: OpenApp
  readonly pause: (ms: number) => Promise<void>
}

type Answer = OperatorAnswer<unknown>

// A starting server or another command locks the folder for a moment.
const LOCKED_RETRIES = 40
const LOCKED_RETRY_MS = 100

/** Copying a ledger takes as long as its disks take; a server that dies closes the connection. */
const BACKUP_TIMEOUT_MS = 12 * 60 * 60_000

/** Calls the running server if there is one, else runs here with the data folder locked. */
export const createOperator = (deps: OperatorDeps): Operator => ({
  async call<Name extends OperationName>(place: Place, name: Name, args: OperationArgs<Name>, timeoutMs?: number) {
    // The table of operations fixes the type of the value; a socket cannot check it.
    return (await call(deps, place, name, args, timeoutMs)) as OperatorAnswer<OperationValue<Name>>
  },
  async callEach<Name extends OperationName>(
    place: Place,
    name: Name,
    argsOf: (worker: number) => OperationArgs<Name>,
  ) {
    return (await callEach(deps, place, name, argsOf)) as OperatorAnswer<OfWorker<OperationValue<Name>>[]>
  },
})

async function call(
  deps: OperatorDeps,
  place: Place,
  name: OperationName,
  args: unknown,
  timeoutMs = name === 'db.backup' ? BACKUP_TIMEOUT_MS : ADMIN_BOUNDS.answerTimeoutMs,
): Promise<Answer> {
  const loaded = deps.loadSettings(place)
  if (loaded.kind === 'invalid') {
    // A running server has an earlier configuration in force, and can report what is wrong with this one.
    const answer = loaded.data === undefined ? undefined : await callServer(deps, loaded.data, name, args, timeoutMs)
    return answer ?? { kind: 'unreachable', exit: EXIT.usage, message: loaded.message }
  }
  const { settings } = loaded
  const { data } = settings.config.storage
  for (let tries = 0; ; tries++) {
    const answer =
      (await callServer(deps, data, name, args, timeoutMs)) ?? (await runHere(deps, { place, settings }, name, args))
    if (answer.kind !== 'locked') return answer
    if (tries >= LOCKED_RETRIES) {
      const message = await describeHolder(data, deps.program)
      return { kind: 'unreachable', exit: EXIT.cannotBind, message }
    }
    await deps.pause(LOCKED_RETRY_MS)
  }
}

/** Operations that only a process that serves can answer. */
const OF_SERVERS: ReadonlySet<string> = new Set(['metrics.read', 'logs.read'])

/**
 * The answers of all processes of a server, by the number of their worker. A worker that is started again has nothing to say
 * meanwhile, and the first failure is that of all if no worker answers.
 */
async function callEach(deps: OperatorDeps, place: Place, name: OperationName, argsOf: (worker: number) => unknown) {
  const loaded = deps.loadSettings(place)
  const data = loaded.kind === 'loaded' ? loaded.settings.config.storage.data : loaded.data
  const answers: { worker: number; value: unknown }[] = []
  let failure: Answer | undefined
  for (const [index, folder] of data === undefined ? [] : foldersOfWorkers(data).entries()) {
    const worker = index + 1
    const answer = await callProcess(deps, folder, name, argsOf(worker))
    if (answer?.kind === 'done') answers.push({ worker, value: answer.value })
    else failure ??= answer
  }
  if (answers.length > 0) return { kind: 'done' as const, value: answers }
  return failure ?? (await call(deps, place, name, argsOf(1)))
}

/** The folders in which a process of the server on this data folder may listen. */
function foldersOfWorkers(data: string): string[] {
  const folders = [data]
  for (let number = 2; existsSync(nodeFolderOf(data, { number })); number++)
    folders.push(nodeFolderOf(data, { number }))
  return folders
}

/** Each worker answers for its whole server, so another one does while the first is started again. Undefined when no server runs. */
async function callServer(
  deps: OperatorDeps,
  data: string,
  operation: string,
  args: unknown,
  timeoutMs?: number,
): Promise<Answer | undefined> {
  for (const folder of foldersOfWorkers(data)) {
    const answer = await callProcess(deps, folder, operation, args, timeoutMs)
    if (answer !== undefined) return answer
  }
  return undefined
}

/** Undefined when no process listens in the folder: there is no note, or a killed process left one. */
async function callProcess(
  deps: OperatorDeps,
  data: string,
  operation: string,
  args: unknown,
  timeoutMs?: number,
): Promise<Answer | undefined> {
  const server = await readServerNote(data)
  if (server === undefined) return undefined
  const reply = await sendToServer(server.socket, { version: deps.version, operation, args }, timeoutMs)
  switch (reply.kind) {
    case 'absent':
      return undefined
    case 'broken': {
      const message = `The server (pid ${server.pid}) did not answer: ${reply.reason}. Check whether the command took effect.`
      return { kind: 'unreachable', exit: EXIT.remoteFailed, message }
    }
    case 'reply':
      return readAnswer(reply.answer, deps.version)
    default:
      return assertNever(reply)
  }
}

function readAnswer(answer: AdminAnswer, version: string): Answer {
  switch (answer.kind) {
    case 'answered':
      return answer.outcome
    case 'other-version': {
      const message = `The running server is millrace ${answer.version}, this command is ${version}. Restart the server, or use its version.`
      return { kind: 'unreachable', exit: EXIT.remoteFailed, message }
    }
    case 'malformed':
    case 'failed':
      return { kind: 'unreachable', exit: EXIT.remoteFailed, message: answer.message }
    default:
      return assertNever(answer)
  }
}

function noLedger(data: string): string {
  const isFile = statSync(data, { throwIfNoEntry: false })?.isFile() === true
  const what = isFile ? `${data} is a file, not a data folder.` : `There is no Millrace data in ${data}.`
  return `${what} Name the right folder with --data or storage.data. To create one, start the server: millrace serve. To start a ledger in an existing folder: millrace accounts create`
}

function canRead(data: string): boolean {
  try {
    accessSync(data, constants.R_OK)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'EACCES'
  }
}

async function runHere(
  deps: OperatorDeps,
  { place, settings }: { readonly place: Place; readonly settings: LoadedConfig },
  name: string,
  args: unknown,
): Promise<Answer | { kind: 'locked' }> {
  const { data, database } = settings.config.storage
  if (!canRead(data)) {
    const message = `${data} may not be read by this user. Run this as its owner, who is the user of the server.`
    return { kind: 'unreachable', exit: EXIT.failure, message }
  }
  const set_aside = listQuarantined(data)
  const { version, node } = deps
  const notRunning: ServerStatus = { running: false, version, node, data, has_ledger: hasLedger(data), set_aside }
  // `status` must not create a data folder.
  if (name === 'status') return { kind: 'done', value: notRunning }
  const isPostgres = database.kind === 'postgres'
  // A mistyped path must not create a new ledger and key ring, which would look healthy.
  if (!isPostgres && !hasLedger(data) && !(name === 'accounts.create' && existsSync(data)))
    return { kind: 'unreachable', exit: EXIT.failure, message: noLedger(data) }
  if (OF_SERVERS.has(name))
    return {
      kind: 'unreachable',
      exit: EXIT.notRunning,
      message: `No server runs on ${data}. Start one: millrace serve`,
    }
  const opened = await deps.openApp({
    ...{ settings, clock: deps.clock, random: deps.random, purpose: 'command' },
    loadSettings: (managed) => deps.loadSettings(place, managed),
  })
  if (opened.kind === 'locked') return opened
  if (opened.kind === 'refused') return { kind: 'unreachable', exit: EXIT.failure, message: opened.message }
  const { app } = opened
  try {
    const { runOperation } = await import('../admin/operations.ts')
    return await runOperation({ ...app.operations, status: () => notRunning }, name, args)
  } finally {
    await app.close().finally(() => app.log.close())
  }
}

type ServerReply =
  | { readonly kind: 'reply'; readonly answer: AdminAnswer }
  /** No server listens there. */
  | { readonly kind: 'absent' }
  /** The server listened, but no answer came: whether the work was done is unknown. */
  | { readonly kind: 'broken'; readonly reason: string }

const NO_SERVER = new Set(['ENOENT', 'ECONNREFUSED', 'ENOTSOCK'])

/** Sends one request through the admin socket and waits for its answer. Never rejects. */
export function sendToServer(
  path: string,
  request: AdminRequest,
  timeoutMs: number = ADMIN_BOUNDS.answerTimeoutMs,
): Promise<ServerReply> {
  return new Promise((resolve) => {
    const readLines = createLineReader(ADMIN_BOUNDS.answerBytesMax)
    const socket = connect(path)
    const settle = (reply: ServerReply) => {
      socket.destroy()
      resolve(reply)
    }
    socket.setTimeout(timeoutMs, () => settle({ kind: 'broken', reason: 'it did not answer in time' }))
    socket.once('connect', () => socket.write(`${JSON.stringify(request)}\n`))
    socket.on('data', (chunk) => {
      const lines = readLines(chunk)
      if (lines === undefined) return settle({ kind: 'broken', reason: 'its answer is too long' })
      if (lines[0] !== undefined) settle(readServerAnswer(lines[0]))
    })
    socket.on('error', (error: NodeJS.ErrnoException) =>
      settle(NO_SERVER.has(error.code ?? '') ? { kind: 'absent' } : { kind: 'broken', reason: error.message }),
    )
    socket.on('close', () => settle({ kind: 'broken', reason: 'it closed the connection' }))
  })
}

function readServerAnswer(line: string): ServerReply {
  try {
    return { kind: 'reply', answer: JSON.parse(line) as AdminAnswer }
  } catch {
    return { kind: 'broken', reason: 'its answer is not JSON' }
  }
}
