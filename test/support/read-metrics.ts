import type { TestServer } from './start-server.ts'

const portOf = new WeakMap<TestServer, Promise<number>>()

/** What the server's own metrics say, by series. */
export async function readMetrics(server: TestServer): Promise<Readonly<Record<string, number>>> {
  const port = portOf.get(server) ?? listen(server)
  portOf.set(server, port)
  const text = await (await fetch(`http://127.0.0.1:${await port}/metrics`)).text()
  const lines = text.split('\n').filter((line) => line.startsWith('millrace_'))
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]))
}

/** How many requests have ended so far, also those that ran no turn or lost their client. */
export async function requestsEnded(server: TestServer): Promise<number> {
  const ended = Object.entries(await readMetrics(server)).filter(([name]) => name.startsWith('millrace_http_requests_'))
  return ended.reduce((sum, [, count]) => sum + count, 0)
}

async function listen({ serving }: TestServer): Promise<number> {
  const listening = await serving.listenMetrics({ host: '127.0.0.1', port: 0 })
  if (listening.kind !== 'listening') throw new Error(`the metrics do not listen: ${listening.kind}`)
  return listening.port
}
