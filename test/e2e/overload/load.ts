import { openRawSocket, type RawSocket } from '../../support/raw-socket.ts'
import { readMetrics } from '../../support/read-metrics.ts'
import { framesOf } from '../../support/read-stream.ts'
import { hello, send } from '../../support/send-chat.ts'
import type { TestServer } from '../../support/start-server.ts'
import { openAccount } from '../../support/test-account.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'
import { until } from '../../support/until.ts'

export const KiB = 1024

/** Room for three turns with small bodies: each counts for 256 KiB, and an eighth is kept for bodies. */
const setupOf = (wait: string, requestTimeout: string) => `${TEST_CONFIG}
overload: { memory_budget: 1MiB, queue: 2, queue_wait: ${wait} }
bounds: { body_bytes: 512KiB, request_timeout: ${requestTimeout} }
server: { max_connections: 10 }
`
export const PATIENT_HOUSE = setupOf('1m', '1h')
export const HASTY_HOUSE = setupOf('100ms', '1s')

/** How busy the server says that it is. */
export function openLoadReader(server: TestServer) {
  const read = () => readMetrics(server)
  const load = async () => {
    const all = await read()
    return {
      running: all.millrace_turns_running,
      bytes: all.millrace_memory_budget_used_bytes,
      waiting: all.millrace_queue_length,
    }
  }
  const shed = async (reason: string) => (await read())[`millrace_shed_total{reason="${reason}"}`] ?? 0
  const idle = () => until(async () => (await load()).running === 0)
  return { load, shed, idle }
}

/** Three answers that go on until they are hung up on. */
export async function fill(server: TestServer) {
  const account = await openAccount(server)
  const body = { model: 'calm', stream: true, messages: hello('count to 5000') }
  const ends = await Promise.all(
    [1, 2, 3].map(async () => {
      const controller = new AbortController()
      const response = await send(server, account, body, { signal: controller.signal })
      const frames = framesOf(response)
      return { next: () => frames.next(), end: () => controller.abort() }
    }),
  )
  return {
    account,
    streams: ends,
    end: () => {
      for (const stream of ends) stream.end()
    },
  }
}

/** A request whose head says one thing about its body, and whose sender does what the test says. */
export async function beginRequest(server: TestServer, key: string, claimedBytes: number): Promise<RawSocket> {
  const socket = await openRawSocket(server)
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${claimedBytes}\r\n\r\n`,
  )
  return socket
}
