import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createCertificate } from '../../fixtures/providers/certificate.ts'
import { DIST } from '../../program/program.mjs'
import { until } from '../../support/until.ts'

let folder: string
let emitted: string
let child: ReturnType<typeof spawn>

const first = createCertificate('localhost')
const second = createCertificate('localhost')

const writePair = async ({ cert, key }: typeof first) => {
  await writeFile(join(folder, 'key.pem'), key, { mode: 0o600 })
  await writeFile(join(folder, 'cert.pem'), cert)
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-tls-'))
  await writePair(first)
  const file = join(folder, 'millrace.yaml')
  await writeFile(
    file,
    'server: { port: 0, metrics_port: 0, tls: { cert: cert.pem, key: key.pem } }\nupstreams: [{ id: demo, wire: demo }]\n',
  )
  emitted = ''
  child = spawn(
    process.execPath,
    [join(DIST, 'app', 'main.js'), 'serve', '--config', file, '--data', join(folder, 'data')],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (bytes) => (emitted += bytes))
  await until(() => emitted.includes('Ready in'))
})

afterEach(async () => {
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await ended
  await rm(folder, { recursive: true })
})

const portOf = () => Number(/API +https:\/\/127\.0\.0\.1:(\d+)\/v1/.exec(emitted)?.[1])

function get(path: string, agent: Agent, ca = first.cert): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: portOf(), path, agent, ca, servername: 'localhost' }
    const asked = request(options, async (response) => {
      let text = ''
      for await (const piece of response) text += piece
      resolve({ status: response.statusCode, text })
    })
    asked.on('error', reject)
    asked.end()
  })
}

/** What a new connection is shown. */
function handshake(options: object = {}): Promise<{ fingerprint: string; alpn: TLSSocket['alpnProtocol'] }> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: portOf(), rejectUnauthorized: false, ...options }, () => {
      const { fingerprint256: fingerprint } = socket.getPeerCertificate()
      resolve({ fingerprint, alpn: socket.alpnProtocol })
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

it('is served with certificates that change without a restart, while connections stay open', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  expect(await get('/healthz', agent)).toEqual({ status: 200, text: '{"status":"ok"}' })
  expect(JSON.parse(await readFile(join(folder, 'data', 'server.json'), 'utf8')).url).toMatch(/^https:/)
  const shown = await handshake({ ALPNProtocols: ['h2', 'http/1.1'] })
  expect(shown.alpn).toBe('http/1.1')
  await expect(handshake({ maxVersion: 'TLSv1.1', minVersion: 'TLSv1' })).rejects.toThrow()

  await writePair(second)
  await until(async () => (await handshake()).fingerprint !== shown.fingerprint)
  // Its socket is that of the first certificate, which it would not find again.
  expect((await get('/healthz', agent)).status).toBe(200)
  const fresh = new Agent()
  await expect(get('/healthz', fresh)).rejects.toThrow(/certificate/)
  expect((await get('/healthz', fresh, second.cert)).status).toBe(200)

  expect(JSON.parse((await get('/schema/millrace.json', fresh, second.cert)).text).title).toBe('millrace.yaml')
  const renewed = (await handshake()).fingerprint
  await writeFile(join(folder, 'cert.pem'), 'half a certificate')
  await until(() => emitted.includes('was not reloaded'))
  expect((await handshake()).fingerprint).toBe(renewed)
  expect(emitted).toContain('server.tls.cert: the file is not a certificate in PEM')
  agent.destroy()
})

it('closes a client that speaks plain HTTP, and goes on', async () => {
  await expect(fetch(`http://127.0.0.1:${portOf()}/healthz`)).rejects.toThrow()
  expect((await get('/healthz', new Agent())).status).toBe(200)
})
