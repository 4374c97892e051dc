import { readdir, readFile, readlink } from 'node:fs/promises'
import type { LoadedConfig } from '../config/load-config.ts'
import type { Serving } from './app.ts'

type ApiListening =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'failed'; readonly message: string }

/** Metrics are worth a warning, never the service, unless somebody asked for that very port. */
type MetricsListening =
  | { readonly kind: 'listening'; readonly port: number; readonly notice?: string }
  | Extract<ApiListening, { kind: 'failed' }>
  | { readonly kind: 'without'; readonly warning: string }
  | { readonly kind: 'off' }

interface Address {
  readonly host: string
  readonly port: number
}

export async function listenApi(serving: Serving, { host, port }: Address): Promise<ApiListening> {
  const outcome = await serving.listen({ host, port })
  if (outcome.kind === 'listening') return { kind: 'listening', port: outcome.port }
  const why = await explain(outcome.kind, { host, port })
  return { kind: 'failed', message: `${why} To listen elsewhere: --host and --port; --port 0 takes any free one.` }
}

export async function listenMetrics(serving: Serving, settings: LoadedConfig): Promise<MetricsListening> {
  const { server, telemetry } = settings.config
  if (!telemetry.metrics) return { kind: 'off' }
  const address = { host: server.metricsHost, port: server.metricsPort }
  const outcome = await serving.listenMetrics(address)
  if (outcome.kind === 'listening') return { kind: 'listening', port: outcome.port }
  const why = await explain(outcome.kind, address)
  if (settings.origins.has('server.metrics_port')) {
    return { kind: 'failed', message: `Metrics: ${why} Use --metrics-port; 0 takes any.` }
  }
  // A second instance beside the first: nobody has asked for this port.
  const other = await serving.listenMetrics({ ...address, port: 0 })
  if (other.kind === 'listening') {
    const notice = `Metrics are on port ${other.port}: ${why} To choose one: --metrics-port`
    return { kind: 'listening', port: other.port, notice }
  }
  return { kind: 'without', warning: `Metrics are not served: ${why} server.metrics_port: 0 takes any free one.` }
}

type ListenFailure = Exclude<Awaited<ReturnType<Serving['listen']>>['kind'], 'listening'>

async function explain(failure: ListenFailure, { host, port }: Address): Promise<string> {
  switch (failure) {
    case 'address-in-use': {
      const owner = await findPortOwner(port)
      return `Port ${port} is taken by ${owner === undefined ? 'another process' : `pid ${owner.pid} (${owner.name})`}.`
    }
    case 'address-not-available':
      return `${host} is not an address of this machine.`
    case 'not-permitted':
      return `This user may not listen on port ${port}.`
  }
}

interface PortOwner {
  readonly pid: number
  readonly name: string
}

const LISTENING = '0A'

/**
 * Who listens on a port, as far as the system tells: Linux lists sockets by inode, and a process's open files name the
 * inodes. Undefined elsewhere, and for processes of other users.
 */
async function findPortOwner(port: number): Promise<PortOwner | undefined> {
  try {
    const inodes = new Set([...(await listeningInodes('tcp', port)), ...(await listeningInodes('tcp6', port))])
    if (inodes.size === 0) return undefined
    for (const entry of await readdir('/proc')) {
      if (/^\d+$/.test(entry) && (await holdsOneOf(entry, inodes))) {
        return { pid: Number(entry), name: (await readFile(`/proc/${entry}/comm`, 'utf8')).trim() }
      }
    }
    return undefined
  } catch {
    return undefined
  }
}

async function listeningInodes(protocol: 'tcp' | 'tcp6', port: number): Promise<string[]> {
  const table = await readFile(`/proc/net/${protocol}`, 'utf8').catch(() => '')
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return table
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(suffix) && fields[3] === LISTENING)
    .map((fields) => `socket:[${fields[9]}]`)
}

async function holdsOneOf(pid: string, inodes: ReadonlySet<string>): Promise<boolean> {
  const files = await readdir(`/proc/${pid}/fd`).catch(() => [])
  for (const file of files) {
    const target = await readlink(`/proc/${pid}/fd/${file}`).catch(() => '')
    if (inodes.has(target)) return true
  }
  return false
}
