import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { OperationArgs, OperationName, OperationValue } from '../../src/admin/operations.ts'
import type { WorkerStatus } from '../../src/admin/server-status.ts'
import { sendToServer } from '../../src/app/operator.ts'
import { findFreePort } from '../program/free-port.mjs'
import type { PostgresServer } from '../program/postgres.mjs'
import { type Place, placeIn, type ServerProcess, startServer } from '../program/program.mjs'
import { createRandom } from '../program/random.mjs'
import { hello } from './send-chat.ts'
import { TEST_CONFIG, withoutStrain } from './test-config.ts'
import { until } from './until.ts'

let made = 0

/** The program with several workers, in processes of its own, on a database of its own. */
export async function createServerWithWorkers(postgres: PostgresServer) {
  const database = `workers_${++made}`
  const folder = await mkdtemp(join(tmpdir(), 'millrace-workers-'))
  const place = placeIn(folder)
  const query = async (sql: string, on = database) => {
    const client = new pg.Client({ host: postgres.host, user: postgres.user, database: on })
    await client.connect()
    return (await client.query(sql).finally(() => client.end())).rows
  }
  await query(`CREATE DATABASE ${database}`, 'postgres')
  const started: RunningServer[] = []
  // Far apart, because another file runs at the same time in a process of a number close by.
  const metricsPort = await findFreePort(createRandom(process.pid * 1000 + made))
  /** `ofServer`: further keys of the section `server`. */
  const configure = (workers: number | string, more = '', ofServer = '') =>
    writeFile(
      place.config,
      withoutStrain(`${TEST_CONFIG}${more}
storage: { database: "postgres://${postgres.user}@localhost/${database}?host=${postgres.host}" }
server: { workers: ${workers}, metrics_port: ${metricsPort}${ofServer} }
`),
    )
  return {
    metricsPort,
    place,
    database,
    query,
    /** Every process that ran at some time. */
    pids: () => started.flatMap(({ seen }) => [...seen]),
    configure,
    async start(workers: number | string, more = '', ofServer = ''): Promise<RunningServer> {
      await configure(workers, more, ofServer)
      const server = await handleOf(place, startServer(place))
      started.push(server)
      return server
    },
    async close(): Promise<void> {
      for (const server of started) server.process.kill('SIGKILL')
      for (const pid of started.flatMap(({ seen }) => [...seen])) if (!isGone(pid)) process.kill(pid, 'SIGKILL')
      await Promise.all(started.map((server) => server.process.ended))
      await rm(folder, { recursive: true })
    },
  }
}

type RunningServer = Awaited<ReturnType<typeof handleOf>>

async function handleOf(place: Place, server: ServerProcess) {
  const url = await server.ready
  const seen = new Set([server.pid])
  const operate = async <Name extends OperationName>(operation: Name, args: OperationArgs<Name>) => {
    const { socket, version } = JSON.parse(await readFile(join(place.data, 'server.json'), 'utf8'))
    const reply = await sendToServer(socket, { version, operation, args })
    if (reply.kind !== 'reply' || reply.answer.kind !== 'answered' || reply.answer.outcome.kind !== 'done')
      throw new Error(`${operation}: ${JSON.stringify(reply)}`)
    return reply.answer.outcome.value as OperationValue<Name>
  }
  /** Undefined while the first worker does not answer. */
  const workers = async (): Promise<readonly WorkerStatus[]> => {
    const status = await operate('status', {}).catch(() => undefined)
    const all = (status?.running ? status.workers : undefined) ?? []
    for (const { pid } of all) seen.add(pid)
    return all
  }
  return {
    process: server,
    url,
    seen,
    operate,
    workers,
    allReady: (count: number) => until(async () => ((await workers()).length === count ? workers() : undefined)),
    async openAccount() {
      const email = 'owner@example.com'
      await operate('accounts.create', { email } as OperationArgs<'accounts.create'>)
      const credit = { account: email, amount: '10.00', reason: 'test', ref: 'first' }
      await operate('wallet.credit', credit as OperationArgs<'wallet.credit'>)
      const key = { account: email, kind: 'wallet', name: 'test' } as OperationArgs<'keys.create'>
      return (await operate('keys.create', key)).key
    },
    logged: (message: string) =>
      server
        .output()
        .split('\n')
        .filter((line) => line.startsWith('{') && line.endsWith('}'))
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter(({ msg }) => String(msg).includes(message)),
  }
}

/** A process that is not waited for yet has ended as well. */
export function isGone(pid: number): boolean {
  const stat = `/proc/${pid}/stat`
  if (existsSync('/proc/self/stat')) return !existsSync(stat) || / Z /.test(readFileSync(stat, 'utf8'))
  try {
    process.kill(pid, 0)
    return false
  } catch {
    return true
  }
}

export interface OpenTurn {
  readonly requestId: string
  readonly status: number
  /** So far. */
  text(): string
  /** Resolves when the answer has ended, however it has. */
  readonly ended: Promise<void>
}

/** On a connection of its own, so that the workers take turns. */
export async function openTurn(
  { url }: { readonly url: string },
  key: string,
  { words = 'Hello', model = 'swift', stream = true, headers = {} }: TurnOptions = {},
): Promise<OpenTurn> {
  const options = {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
  }
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(`${url}/v1/chat/completions`, options, resolve)
    sent.on('error', reject)
    sent.end(JSON.stringify({ model, stream, messages: hello(words) }))
  })
  let text = ''
  response.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  const ended = new Promise<void>((resolve) => response.on('error', () => {}).once('close', () => resolve()))
  return {
    requestId: String(response.headers['x-request-id']),
    status: response.statusCode!,
    text: () => text,
    ended,
  }
}

interface TurnOptions {
  readonly words?: string
  readonly model?: string
  readonly stream?: boolean
  readonly headers?: Readonly<Record<string, string>>
}
