import { clockView } from '../admin/server-status.ts'
import { runOperation } from '../admin/operations.ts'
import type { ServerStatus } from '../admin/server-status.ts'
import { isoTime } from '../admin/values.ts'
import { EXIT, type ExitCode, type ServeOptions } from '../cli/cli-deps.ts'
import { configPathOf } from '../config/load-config.ts'
import { createClosing } from '../lib/async.ts'
import { urlOf } from '../lib/network.ts'
import { makeDataFolder } from '../lib/private-files.ts'
import { openAdminSocket } from './admin-socket.ts'
import { announceReady, say } from './banner.ts'
import { listQuarantined } from './data-folder.ts'
import { listenApi, listenMetrics } from './listen.ts'
import type { Signals } from './process.ts'
import { createReloader, watchConfig } from './reload-config.ts'
import {
  describeHolder,
  openServerNote,
  type ServeContext,
  type ServeDeps,
  type ServeOutcomeContext,
  type ServerNote,
  type Standing,
} from './server-note.ts'
import { shutDown } from './shutdown.ts'

/** How long turns that were cut have to settle before the process gives up on them; recovery does the rest. */
const SETTLE_MS = 5_000

/** Serves until a signal comes. What was opened is closed in reverse on every way out. */
export async function serve(deps: ServeDeps, options: ServeOptions): Promise<ExitCode> {
  const loaded = deps.loadSettings(options)
  if (loaded.kind === 'invalid') return fail(deps, EXIT.usage, loaded.message)
  const { settings } = loaded
  const { data } = settings.config.storage
  await makeDataFolder(data)
  const opened = await deps.openApp({ settings, clock: deps.clock, random: deps.random, purpose: 'server' })
  if (opened.kind === 'locked') return fail(deps, EXIT.cannotBind, await describeHolder(data, deps.program))
  if (opened.kind === 'refused') return fail(deps, EXIT.failure, opened.message)
  const { app } = opened
  const closing = createClosing()
  closing.add(() => app.close())
  try {
    const standing: Standing = {
      status: () => ({ running: false, version: deps.version, node: deps.node, data }),
    }
    const context = { ...deps, options, settings, app, closing, standing }
    const note = await openServerNote(context)
    const ready = await openDoors(context)
    return ready.kind === 'failed' ? fail(deps, EXIT.cannotBind, ready.message) : await attend(ready.context, note)
  } finally {
    // The log closes last of all: what the end has to say belongs into it.
    await closing.close().finally(() => app.log.close())
  }
}

type Doors =
  | { readonly kind: 'open'; readonly context: ServeContext }
  | { readonly kind: 'failed'; readonly message: string }

async function openDoors(context: ServeOutcomeContext): Promise<Doors> {
  const { settings, app, terminal } = context
  const { server } = settings.config
  const serving = await app.openServing({ version: context.version, status: () => context.standing.status() })
  const api = await listenApi(serving, server)
  if (api.kind === 'failed') return api
  const metrics = await listenMetrics(serving, settings)
  if (metrics.kind === 'failed') return metrics
  if (metrics.kind === 'without') terminal.err(`${metrics.warning}\n`)
  if (metrics.kind === 'listening' && metrics.notice !== undefined) terminal.err(`${metrics.notice}\n`)
  const url = urlOf(server.host, api.port)
  const metricsUrl = metrics.kind === 'listening' ? `${urlOf(server.metricsHost, metrics.port)}/metrics` : undefined
  return { kind: 'open', context: { ...context, serving, url, metricsUrl, startedAt: context.clock.now() } }
}

/** From the first request on to the last. */
async function attend(context: ServeContext, note: ServerNote): Promise<ExitCode> {
  const { app, serving, settings, closing } = context
  const state: ServingState = { draining: false, reloadRefused: null }
  context.standing.status = () => statusOf(context, state)
  const operations = { ...app.operations, status: () => context.standing.status() }
  const socket = await openAdminSocket(
    {
      version: context.version,
      run: (operation, args) => runOperation(operations, operation, args),
      onFailure: (operation, error) => app.log.error({ operation, error }, 'an operation failed'),
    },
    note.socket,
  )
  closing.add(() => socket.close())
  const signals = context.openSignals()
  closing.add(() => signals.close())
  const broken = whenBroken(context)
  closing.add(reloadOnChange(context, signals, state))
  // Whoever finds the address there may send signals at once.
  await note.write(context.url)
  await announceReady(context)

  const exit = await Promise.race([signals.next().then(() => EXIT.ok), broken])
  state.draining = true
  await shutDown({
    edge: serving,
    drainMs: settings.config.drain.timeoutMs,
    lingerMs: settings.config.drain.lingerMs,
    settleMs: SETTLE_MS,
    say: (message) => say(context, message),
    nextSignal: () => signals.next(),
    close: () => closing.close(),
  })
  return exit
}

/**
 * What nobody caught may have left anything in any state, and without the thread of a database nothing can be admitted or
 * kept: the server stops, and whoever supervises it starts it again. Its turns end and settle first, as far as they still
 * can. What breaks meanwhile is only logged, because the way out is bounded already.
 */
function whenBroken(context: ServeContext): Promise<ExitCode> {
  return new Promise((resolve) => {
    const stop = (error: unknown, message: string) => {
      context.app.log.error({ error }, message)
      say(context, 'Something broke that nobody expected: this server stops. Its log says what.')
      resolve(EXIT.failure)
    }
    context.closing.add(context.faults.take((error) => stop(error, 'nobody caught this')))
    void context.app.died.then((death) => stop(death, 'the thread of a database has ended'))
  })
}

/** The file is read again when it changes, and on SIGHUP. Connections of upstreams that are gone end in their own time. */
function reloadOnChange(context: ServeContext, signals: Signals, state: ServingState): () => void {
  const { app, serving, settings } = context
  const reload = createReloader(
    {
      loadSettings: () => context.loadSettings(context.options),
      rules: app.rules,
      log: app.log,
      onSwapped: async () => void serving.retireConnections(),
      onOutcome: (refused) => {
        state.reloadRefused = refused
      },
    },
    settings,
  )
  const path = configPathOf(settings)
  const stopWatching = path === undefined ? () => {} : watchConfig(path, () => void reload())
  signals.onReload(() => void reload())
  return stopWatching
}

interface ServingState {
  draining: boolean
  reloadRefused: string | null
}

function statusOf(context: ServeContext, state: Readonly<ServingState>): ServerStatus {
  const { settings, app, serving } = context
  return {
    running: true,
    draining: state.draining,
    version: context.version,
    node: context.node,
    driver: app.driver,
    pid: context.pid,
    url: context.url,
    public_url: settings.config.server.publicUrl ?? null,
    data: settings.config.storage.data,
    config: configPathOf(settings) ?? 'none (defaults)',
    reload_refused: state.reloadRefused,
    started_at: isoTime(context.startedAt),
    ledger_available: app.ledgerAvailable(),
    clock: clockView(app.operations.ledgerClock.standing()),
    models: app.operations.catalog().models.length,
    requests_running: serving.turnsRunning,
    requests_served: serving.requestsServed,
    set_aside: listQuarantined(settings.config.storage.data),
  }
}

function fail({ terminal }: ServeDeps, exit: ExitCode, message: string): ExitCode {
  terminal.err(`${message}\n`)
  return exit
}
