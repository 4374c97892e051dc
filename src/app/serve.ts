import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { runOperation } from '../admin/operations.ts'
import { clockView, type ServerStatus, type WorkerStatus } from '../admin/server-status.ts'
import { isoTime } from '../admin/values.ts'
import { EXIT, type ExitCode, type ServeOptions } from '../cli/cli-services.ts'
import { jsonError } from '../cli/command-context.ts'
import { configPathOf } from '../config/load-config.ts'
import { createClosing } from '../lib/async.ts'
import { makeDataFolder } from '../lib/files.ts'
import { urlOf } from '../lib/network.ts'
import { createLogWatch } from '../telemetry/log-watch.ts'
import { openAdminSocket } from './admin-socket.ts'
import { announceReady, report } from './banner.ts'
import { listQuarantined, nodeFolderOf } from './data-folder.ts'
import { explainListenFailure } from './ports.ts'
import type { Signals } from './process.ts'
import { createReloader, watchFiles } from './reload-config.ts'
import {
  describeHolder,
  openServerNote,
  type ServeContext,
  type ServeDeps,
  type ServerNote,
  type StartContext,
} from './server-note.ts'
import { shutDown } from './shutdown.ts'
import type { WorkerLink } from './worker-link.ts'

/** How long aborted turns have to settle before the process gives up on them. Recovery resolves the rest at the next start. */
const SETTLE_MS = 5_000

/** Serves until a signal arrives. Every way out closes in reverse order what was opened. */
export async function serve(deps: ServeDeps, options: ServeOptions): Promise<ExitCode> {
  const fail = (exit: ExitCode, message: string): ExitCode => {
    if (options.json) deps.terminal.out(jsonError(exit, message))
    else deps.terminal.err(`${message}\n`)
    return exit
  }
  const loaded = deps.loadSettings(options)
  if (loaded.kind === 'invalid') return fail(EXIT.usage, loaded.message)
  const { worker } = deps
  const { storage, server } = loaded.settings.config
  // Loaded only then: a server of one process needs none of it.
  if (worker === undefined && server.workers > 1)
    return (await import('./workers.ts')).superviseWorkers(deps, loaded.settings)
  const folder = nodeFolderOf(storage.data, worker)
  await makeDataFolder(folder)
  const opened = await deps.openApp({
    ...{ settings: loaded.settings, clock: deps.clock, random: deps.random, purpose: 'server', worker },
    loadSettings: (managed) => deps.loadSettings(options, managed),
  })
  if (opened.kind === 'locked') return fail(EXIT.cannotBind, await describeHolder(folder, deps.program))
  if (opened.kind === 'refused') return fail(EXIT.failure, opened.message)
  const { app } = opened
  const { settings } = app
  const closing = createClosing()
  closing.add(() => app.close())
  try {
    const state: ServerState = {
      ...{ draining: false, reloadRefused: null, context: undefined },
      certificateExpiresAt: settings.config.tls?.expiresAt,
    }
    const start: StartContext = { ...deps, options, settings, app, closing, status: () => statusOf(start, state) }
    const note = await openServerNote(start)
    const listening = await listen(start)
    if (listening.kind === 'failed') return fail(EXIT.cannotBind, listening.message)
    return await run(listening.context, state, note)
  } finally {
    // The log closes last, because the shutdown writes to it.
    await closing.close().finally(() => app.log.close())
  }
}

interface ServerState {
  draining: boolean
  /** Why the last reload was refused. */
  reloadRefused: string | null
  /** Undefined without TLS. */
  certificateExpiresAt: number | undefined
  /** Undefined until the server listens. */
  context: ServeContext | undefined
}

/** From the first request to the last. */
async function run(context: ServeContext, state: ServerState, note: ServerNote): Promise<ExitCode> {
  const { app, serving, settings, closing, worker } = context
  state.context = context
  const logWatch = createLogWatch(app.log, context.clock)
  closing.add(() => logWatch.close())
  const services = { ...app.operations, ...factsOf(context), renderMetrics: () => serving.renderMetrics(), logWatch }
  const socket = await openAdminSocket(
    {
      version: context.version,
      run: (operation, args) => runOperation(services, operation, args),
      onFailure: (operation, error) => app.log.error({ operation, error }, 'an operation failed'),
    },
    note.socket,
  )
  closing.add(() => socket.close())
  const signals = context.openSignals()
  closing.add(() => signals.close())
  const broken = whenBroken(context)
  closing.add(reloadOnChange(context, signals, state))
  // A reader of the note may send signals at once, so it is written after the signal handlers are set.
  await note.write(context.url)
  // It serves already: what the banner could not look up does not stop it.
  if (worker === undefined || worker.announces)
    await announceReady(context).catch((error: unknown) => app.log.error({ error }, 'the banner could not be printed'))
  else app.log.info({ pid: worker.pid }, 'a worker is ready')
  worker?.answerWith({ metrics: () => serving.renderMetrics(), status: async () => workerStatus(context, worker) })
  worker?.ready()
  const collecting = setTimeout(collectStart, COLLECTS_AFTER_MS).unref()
  closing.add(() => clearTimeout(collecting))

  const exit = await Promise.race([signals.next().then(() => EXIT.ok), broken])
  state.draining = true
  await shutDown({
    edge: serving,
    drainMs: settings.config.drain.timeoutMs,
    lingerMs: settings.config.drain.lingerMs,
    settleMs: SETTLE_MS,
    report: (message) => report(context, message),
    nextSignal: () => signals.next(),
    close: () => closing.close(),
  })
  return exit
}

const COLLECTS_AFTER_MS = 1000

/**
 * Frees what the start has used and no longer needs. V8 would keep it until the whole young generation is full: some forty
 * megabytes for each process. It returns the memory a few seconds after a collection.
 */
function collectStart(): void {
  setFlagsFromString('--expose-gc')
  const collect: ((options: { type: 'minor' }) => void) | undefined = runInNewContext('globalThis.gc')
  collect?.({ type: 'minor' })
}

/**
 * An uncaught error may have left anything in any state, and without the thread of a database nothing can be admitted or stored.
 * The server stops, and its supervisor restarts it. Turns end and settle first, as far as they can. Later errors are only logged.
 */
function whenBroken(context: ServeContext): Promise<ExitCode> {
  return new Promise((resolve) => {
    const stop = (error: unknown, message: string) => {
      context.app.log.error({ error }, message)
      report(context, 'An unexpected error stops this server. Its log has the details.')
      resolve(EXIT.failure)
    }
    context.closing.add(context.faults.take((error) => stop(error, 'uncaught error')))
    void context.app.died.then((death) => stop(death, 'the thread of a database has ended'))
  })
}

/** Reloads the configuration when the file changes, on SIGHUP, and when managed entries change. Connections to removed upstreams end when they are idle. */
function reloadOnChange(context: ServeContext, signals: Signals, state: ServerState): () => void {
  const { app, serving, settings } = context
  const reload = createReloader(
    {
      load: () => app.managed.load(),
      rules: app.rules,
      log: app.log,
      onSwapped: async ({ tls }) => {
        void serving.onSwapped()
        if (tls !== undefined) serving.useCertificate(tls)
        state.certificateExpiresAt = tls?.expiresAt
      },
      // A refused configuration may name other files, and is correct when one of them changes.
      onRead: (files) => watching.follow(files),
      onOutcome: (refused) => {
        state.reloadRefused = refused
      },
    },
    settings,
  )
  const watching = watchFiles(() => void reload())
  watching.follow(settings.files)
  app.managed.reloadBy(async () => {
    await reload()
    return state.reloadRefused
  })
  signals.onReload(() => void reload())
  return watching.close
}

/** What the use cases of a running server know about it. */
const factsOf = ({ version, status, worker }: StartContext) => ({ version, status, listWorkers: worker?.listWorkers })

function workerStatus({ status }: ServeContext, { number, pid }: WorkerLink): WorkerStatus | undefined {
  const own = status()
  if (!own.running) return undefined
  const { started_at, ledger_available, reload_refused, requests_running, requests_served, console_requests } = own
  return {
    ...{ worker: number, pid, started_at, ledger_available, reload_refused },
    ...{ requests_running, requests_served, console_requests },
  }
}

function statusOf({ version, node, settings, app }: StartContext, state: Readonly<ServerState>): ServerStatus {
  const { context, draining, reloadRefused, certificateExpiresAt } = state
  const { data } = settings.config.storage
  if (context === undefined) return { running: false, version, node, data }
  return {
    running: true,
    draining,
    version,
    node,
    driver: app.driver,
    pid: context.pid,
    url: context.url,
    public_url: settings.config.server.publicUrl ?? null,
    certificate_expires_at: certificateExpiresAt === undefined ? null : isoTime(certificateExpiresAt),
    data,
    config: configPathOf(settings) ?? 'none (defaults)',
    reload_refused: reloadRefused,
    started_at: isoTime(context.startedAt),
    ledger_available: app.ledgerAvailable(),
    clock: clockView(app.operations.ledgerClock.status()),
    models: app.operations.catalog().models.length,
    requests_running: context.serving.turnsRunning,
    requests_served: context.serving.requestsServed,
    console_requests: context.serving.consoleRequests,
    set_aside: listQuarantined(data),
  }
}

type Listening =
  | { readonly kind: 'listening'; readonly context: ServeContext }
  | { readonly kind: 'failed'; readonly message: string }

/** Listens for the API and for metrics. A taken metrics port fails the start only when the operator has configured it. */
async function listen(start: StartContext): Promise<Listening> {
  const { settings, app, terminal, clock, worker } = start
  const { server, telemetry } = settings.config
  const serving = await app.openServing(factsOf(start))
  const api = await serving.listen(server)
  if (api.kind !== 'listening') {
    const why = await explainListenFailure(api.kind, server, 'server.port')
    return { kind: 'failed', message: `${why} To listen elsewhere: --host and --port; --port 0 takes any free one.` }
  }
  const listening = (metricsPort: number | undefined): Listening => {
    const url = urlOf(server.host, api.port, settings.config.tls && 'https')
    const metricsUrl = metricsPort === undefined ? undefined : `${urlOf(server.metricsHost, metricsPort)}/metrics`
    return { kind: 'listening', context: { ...start, serving, url, metricsUrl, startedAt: clock.now() } }
  }

  if (!telemetry.metrics) return listening(undefined)
  const address = { host: server.metricsHost, port: server.metricsPort }
  // One port serves the metrics of all workers.
  const listenMetrics = worker?.listenMetrics ?? serving.listenMetrics
  const metrics = await listenMetrics(address)
  if (metrics.kind === 'listening') return listening(metrics.port)
  const why = await explainListenFailure(metrics.kind, address, 'server.metrics_port')
  if (settings.origins.has('server.metrics_port')) {
    return { kind: 'failed', message: `Metrics: ${why} Use --metrics-port; 0 takes any.` }
  }
  // Probably a second instance beside the first.
  const other = await listenMetrics({ ...address, port: 0 })
  if (other.kind !== 'listening') {
    terminal.err(`Metrics are not served: ${why} server.metrics_port: 0 takes any free one.\n`)
    return listening(undefined)
  }
  terminal.err(`Metrics are on port ${other.port}: ${why} To choose one: --metrics-port\n`)
  return listening(other.port)
}
