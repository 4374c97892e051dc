import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { get } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const READY_WITHIN_MS = 20_000
const running = new Set()
// Only what was started here is ended, each by its own id.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130))

/**
 * Below the range from which the kernel takes the other ends of connections: while the server is down, a client that
 * was given the same port would connect to itself.
 */
export async function findFreePort(random) {
  for (;;) {
    const port = 20_000 + random.below(10_000)
    if (await isFree(port)) return port
  }
}

function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

/** Resolves when the server says that it is ready. */
export async function startServer(start) {
  const server = spawnServer(start)
  const readyBy = performance.now() + READY_WITHIN_MS
  while (!(await isReady(start.port))) {
    if (server.ended || performance.now() > readyBy) {
      server.kill('SIGKILL')
      throw new Error(`the server did not get ready:\n${readFileSync(start.logPath, 'utf8').slice(-2000)}`)
    }
    await sleep(5)
  }
  return server
}

export function spawnServer({ dist, config, data, port, logPath }) {
  const log = openSync(logPath, 'a')
  const main = join(dist, 'app', 'main.js')
  const args = [main, 'serve', '--config', config, '--data', data, '--port', String(port)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', log, log] })
  closeSync(log)
  running.add(child)
  const exited = new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      running.delete(child)
      resolve(signal ?? code)
    })
  })
  return {
    pid: child.pid,
    exited,
    get ended() {
      return !running.has(child)
    },
    kill: (signal) => child.kill(signal),
  }
}

function isReady(port) {
  return new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port, path: '/readyz', agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    request.on('error', () => resolve(false))
  })
}
