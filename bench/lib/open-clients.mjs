import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** More connections than this are not opened: what arrives then has failed. */
const CONNECTIONS_MAX = 6000
const TICK_MS = 5
const LAST_CHUNK = Buffer.from('0\r\n\r\n')

/**
 * Clients that cost little, so that the server is what is full first: prepared bytes out, and of the answer only its status and
 * its end are looked at. Each answer is timed from when its request was due, not from when it could be sent.
 */
export function createOpenClients({ port, headers, asks, patienceMs }) {
  const requests = asks.map(({ path, body }) => requestBytes(path, headers, body))
  const idle = []
  const answers = []
  const waiting = new Set()
  let sent = 0
  let open = 0

  const send = (due) =>
    new Promise((resolve) => {
      const bytes = requests[sent++ % requests.length]
      const connection = idle.pop() ?? (open < CONNECTIONS_MAX ? enter() : undefined)
      const told = (ended) => {
        waiting.delete(entry)
        answers.push({ due, ended, ms: performance.now() - due })
        resolve()
      }
      const entry = { due, giveUp: () => connection?.socket.destroy() }
      waiting.add(entry)
      if (connection) connection.sendTurn(bytes, told)
      else told('failed')
    })

  const enter = () => {
    open += 1
    const connection = openConnection(port, {
      free: () => idle.push(connection),
      gone() {
        open -= 1
        const at = idle.indexOf(connection)
        if (at >= 0) idle.splice(at, 1)
      },
    })
    return connection
  }

  const patience = setInterval(() => {
    const since = performance.now() - patienceMs
    for (const entry of waiting) if (entry.due < since) entry.giveUp()
  }, 100)

  return {
    async closedLoop({ concurrent, until }) {
      const client = async () => {
        while (performance.now() < until) await send(performance.now())
      }
      await Promise.all(Array.from({ length: concurrent }, client))
    },
    /** Evenly: `rate` requests a second are due, however many wait. */
    async openLoop({ rate, until }) {
      let due = performance.now()
      while (due < until) {
        for (; due <= performance.now() && due < until; due += 1000 / rate) void send(due)
        await sleep(TICK_MS)
      }
    },
    /** Waits for who still waits, as long as their patience lasts. */
    async close() {
      while (waiting.size > 0) await sleep(20)
      clearInterval(patience)
      for (const { socket } of idle) socket.destroy()
      return answers
    },
  }
}

function requestBytes(path, headers, body) {
  const lines = Object.entries({
    host: 'bench',
    'content-type': 'application/json',
    'content-length': body.length,
    ...headers,
  })
  const head = `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
  return Buffer.concat([Buffer.from(head), body])
}

/** One connection, one request at a time. */
function openConnection(port, { free, gone }) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let told
  let status
  let tail = Buffer.alloc(0)
  let left
  const end = (ended) => {
    const tell = told
    told = undefined
    tell?.(ended)
  }
  socket.on('data', (bytes) => {
    if (status === undefined) {
      const head = bytes.toString('latin1', 0, 2048)
      status = Number(head.slice(9, 12))
      const [, length] = /\r\ncontent-length: (\d+)/i.exec(head) ?? []
      left = length === undefined ? undefined : Number(length) + head.indexOf('\r\n\r\n') + 4
    }
    if (left !== undefined) left -= bytes.length
    tail = bytes.length >= 64 ? bytes.subarray(-64) : Buffer.concat([tail, bytes]).subarray(-64)
    if (left === undefined ? !tail.subarray(-5).equals(LAST_CHUNK) : left > 0) return
    const isWhole = status === 200 && tail.includes('[DONE]')
    const ended = isWhole ? 'whole' : status === 503 || status === 429 ? 'shed' : 'failed'
    end(ended)
    if (!socket.destroyed) free()
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    end('failed')
    gone()
  })
  return {
    socket,
    sendTurn(bytes, tell) {
      told = tell
      status = undefined
      left = undefined
      tail = Buffer.alloc(0)
      socket.write(bytes)
    },
  }
}
