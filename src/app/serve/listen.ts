import type { LoadedConfig } from '../config/load-config.ts'
import type { Serving } from '../house/house.ts'
import { findPortOwner } from './find-port-owner.ts'

export type ApiListening =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'failed'; readonly message: string }

/** Metrics are worth a warning, never the service, unless somebody asked for that very port. */
export type MetricsListening =
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
