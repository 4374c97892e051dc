import type { ServerStatus } from '../../src/admin/server-status.ts'
import { clockView } from '../../src/admin/server-status.ts'
import type { App, Serving } from '../../src/app/app.ts'

interface ServerState {
  readonly app: App
  readonly serving: Serving
  readonly folder: string
  readonly port: number
  readonly publicUrl: string | undefined
}

/** What a server in the process of a test says of itself: as `serve` would, with a made-up start time. */
export const testStatus = ({ app, serving, folder, port, publicUrl }: ServerState): ServerStatus => ({
  running: true,
  draining: false,
  version: 'test',
  node: process.version,
  driver: app.driver,
  pid: process.pid,
  url: `http://127.0.0.1:${port}`,
  public_url: publicUrl ?? null,
  certificate_expires_at: null,
  data: folder,
  config: 'millrace.yaml',
  reload_refused: null,
  started_at: new Date(0).toISOString(),
  ledger_available: app.ledgerAvailable(),
  clock: clockView(app.operations.ledgerClock.status()),
  models: app.operations.catalog().models.length,
  requests_running: serving.turnsRunning,
  requests_served: serving.requestsServed,
  console_requests: serving.consoleRequests,
  set_aside: [],
})
