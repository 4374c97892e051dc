import { createServer, type Server } from 'node:http'
import { openTestLedger } from '../admin/books.fixture.ts'
import { DatabaseLocked } from '../db/sqlite/failure.ts'
import { listenOn } from '../server/listener.ts'
import type { AppOutcome, OpenApp, Serving } from './app.ts'

/** Real books and real listening sockets, but nobody answers on them: for tests of what stands around the edge. */
export const openTestApp: OpenApp = async ({ settings }): Promise<AppOutcome> => {
  try {
    const books = await openTestLedger(settings.config.storage.data)
    const servers: Server[] = []
    const close = async () => {
      for (const server of servers) await new Promise<void>((resolve) => server.close(() => resolve()))
      await books.close()
    }
    const app = {
      operations: books.deps,
      ledgerAvailable: () => books.ledger.available,
      driver: books.database.file.driver,
      log: { info: () => {}, warn: () => {}, error: () => {}, close: async () => {} },
      rules: {
        current: {
          catalog: books.deps.catalog(),
          limits: { key: {}, account: {}, accountModel: {}, model: {} },
          strangersOfAddress: undefined,
          load: { memoryBytes: 0, queueLength: 0, queueMs: 0 },
          strain: undefined,
          chosenCap: { sharePercent: 25, tokensMin: 1024 },
          routing: { putAside: undefined, patienceMs: 0, retries: undefined },
          upstreams: [],
          hostedTools: 'ignore' as const,
          liveKeysMax: 50,
        },
        replace: async () => {},
      },
      openServing: async () => servingOn(servers),
      notices: [],
      died: new Promise<Error>(() => {}),
      close,
    }
    return { kind: 'open', app }
  } catch (error) {
    if (error instanceof DatabaseLocked) return { kind: 'locked' }
    throw error
  }
}

function servingOn(servers: Server[]): Serving {
  const listen: Serving['listen'] = async (address) => {
    const server = createServer().on('connection', (socket) => socket.destroy())
    const outcome = await listenOn(server, address)
    if (outcome.kind === 'listening') servers.push(server)
    return outcome
  }
  return {
    listen,
    listenMetrics: listen,
    announceDrain: () => {},
    stopAccepting: async () => {},
    turnsEnded: async () => {},
    cutTurns: () => {},
    cutConnections: () => {},
    retireConnections: async () => {},
    turnsRunning: 0,
    requestsServed: 2,
  }
}
