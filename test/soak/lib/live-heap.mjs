import { get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'undici'

const OPEN_WITHIN_MS = 10_000

/**
 * What is reachable in a running server, in MB: through Node's inspector, which a signal opens, it is asked to collect its
 * garbage and to say what is left. What a process takes from the system also depends on when it last cleaned up; this does not.
 */
export async function openLiveHeap(pid, inspectorPort) {
  process.kill(pid, 'SIGUSR1')
  const socket = new WebSocket(await findUrl(inspectorPort))
  const waiting = new Map()
  let sent = 0
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(data)
    waiting.get(id)?.(result)
    waiting.delete(id)
  })
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', () => reject(new Error('the inspector cannot be reached')))
  })
  const call = (method) =>
    new Promise((resolve) => {
      waiting.set(++sent, resolve)
      socket.send(JSON.stringify({ id: sent, method }))
    })
  return {
    async readMb() {
      await call('HeapProfiler.collectGarbage')
      const { usedSize, embedderHeapUsedSize = 0, backingStorageSize = 0 } = await call('Runtime.getHeapUsage')
      return (usedSize + embedderHeapUsedSize + backingStorageSize) / 1e6
    },
    close: () => socket.close(),
  }
}

async function findUrl(port) {
  const until = performance.now() + OPEN_WITHIN_MS
  for (;;) {
    const targets = await readTargets(port)
    if (targets) return targets[0].webSocketDebuggerUrl
    if (performance.now() > until) throw new Error('the inspector did not open')
    await sleep(50)
  }
}

function readTargets(port) {
  return new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port, path: '/json/list', agent: false }, (response) => {
      let text = ''
      response.on('data', (part) => {
        text += part
      })
      response.on('end', () => resolve(JSON.parse(text)))
    })
    request.on('error', () => resolve(undefined))
  })
}
