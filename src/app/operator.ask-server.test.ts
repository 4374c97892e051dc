import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { sendToServer } from './operator.ts'

let folder: string
let server: Server | undefined
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-ask-'))
})
afterEach(async () => {
  await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()))
  server = undefined
  await rm(folder, { recursive: true })
})

const path = () => join(folder, 'admin.sock')
const ask = (timeoutMs?: number) => sendToServer(path(), { version: '1.0.0', operation: 'status', args: {} }, timeoutMs)

/** Something else than a server of ours listens there. */
async function listen(answer: (socket: Socket) => void): Promise<void> {
  server = createServer((socket) => {
    socket.on('error', () => {})
    answer(socket.on('data', () => {}))
  })
  await new Promise<void>((resolve) => server!.listen(path(), resolve))
}

it('reports that no server listens', async () => {
  expect(await ask()).toEqual({ kind: 'absent' })
})

it.each<[string, (socket: Socket) => void, string]>([
  ['is no JSON', (socket) => socket.write('hello\n'), 'its answer is not JSON'],
  ['never comes', (socket) => socket.end(), 'it closed the connection'],
])('does not know what came of an order whose answer %s', async (_, answer, reason) => {
  await listen(answer)
  expect(await ask()).toEqual({ kind: 'broken', reason })
})

it('waits for an answer up to the timeout', async () => {
  await listen(() => {})
  expect(await ask(20)).toEqual({ kind: 'broken', reason: 'it did not answer in time' })
})
