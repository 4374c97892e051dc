import type { buildConnector, Pool } from 'undici'
import type { Upstream } from '../catalog/catalog.ts'
import { type ConnectorDeps, createGuardedConnector } from './address-guard.ts'

/** The connections to each provider, kept alive between calls. */
export interface OriginPools {
  /** The pools that are open or opening. */
  readonly opened: ReadonlyMap<Upstream, Pool | Promise<Pool>>
  open(upstream: Upstream): Promise<Pool>
  /** Loads undici, so that no request has to wait for it. */
  warmUp(): Promise<void>
  /** Open sockets to a provider, idle ones included. */
  connectionsOf(upstream: Upstream): Promise<number>
  /** Closes the pools of all other upstreams, once their running calls have ended. */
  keepOnly(upstreams: readonly Upstream[]): Promise<void>
  close(): Promise<void>
}

/**
 * A call on a connection that its server is just closing fails, and may have been read: so idle connections are closed before
 * servers close them. Proxies of providers on the internet wait a minute or more; one's own servers (uvicorn, Node) wait five
 * seconds, and connecting to them again costs nothing.
 */
const IDLE_MS = { 'https:': 30_000, 'http:': 4000 } as const

const HEAD_BYTES_MAX = 32 * 1024

/**
 * Its pools alone, and only if a provider is on the network. The whole library has a browser's `fetch` and sockets, which take
 * another tenth of a second and four megabytes.
 */
async function loadUndici(): Promise<{ Pool: typeof Pool; buildConnector: typeof buildConnector }> {
  const [pool, connect] = await Promise.all([
    import('undici/lib/dispatcher/pool.js'),
    import('undici/lib/core/connect.js'),
  ])
  return { Pool: pool.default, buildConnector: connect.default }
}

/** A pool belongs to one upstream as the configuration made it: another key or another certificate is another pool. */
export function createOriginPools(deps: Omit<ConnectorDeps, 'buildConnector'>): OriginPools {
  const pools = new Map<Upstream, Pool | Promise<Pool>>()
  const create = async (upstream: Upstream): Promise<Pool> => {
    const { Pool, buildConnector } = await loadUndici()
    const { origin, protocol } = new URL(upstream.baseUrl ?? '')
    const idleMs = protocol === 'https:' ? IDLE_MS['https:'] : IDLE_MS['http:']
    return new Pool(origin, {
      connect: createGuardedConnector({ ...deps, buildConnector }, upstream),
      // One connection for each running call.
      pipelining: 1,
      connections: null,
      keepAliveTimeout: idleMs,
      keepAliveMaxTimeout: idleMs,
      maxHeaderSize: HEAD_BYTES_MAX,
      // The phases of a call have deadlines of their own.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }
  return {
    opened: pools,
    open(upstream) {
      const opening = create(upstream).then((pool) => {
        // It may have been removed meanwhile.
        if (pools.get(upstream) === opening) pools.set(upstream, pool)
        return pool
      })
      pools.set(upstream, opening)
      return opening
    },
    async warmUp() {
      await loadUndici()
    },
    async connectionsOf(upstream) {
      const pool = await pools.get(upstream)
      return pool?.stats.connected ?? 0
    },
    async keepOnly(upstreams) {
      const removed = [...pools].filter(([upstream]) => !upstreams.includes(upstream))
      for (const [upstream] of removed) pools.delete(upstream)
      await Promise.all(removed.map(async ([, pool]) => (await pool).close()))
    },
    async close() {
      const open = [...pools.values()]
      pools.clear()
      await Promise.all(open.map(async (pool) => (await pool).destroy()))
    },
  }
}
