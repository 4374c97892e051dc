import cluster, { type Worker as WorkerProcess } from 'node:cluster'
import type { WorkerStatus } from '../admin/server-status.ts'
import { EXIT, type ExitCode } from '../cli/cli-services.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import { createClosing } from '../lib/async.ts'
import { msBetween } from '../lib/clock.ts'
import type { ListenOutcome } from '../server/listener.ts'
import { createMetricsServer } from '../server/metrics-server.ts'
import { createLog, type Log, logOptionsOf } from '../telemetry/log.ts'
import { mergeMetrics } from '../telemetry/merge-metrics.ts'
import { WORKER_VARIABLE, type WorkerStart } from './process.ts'
import type { ServeDeps } from './server-note.ts'
import { createLinkEnd, type LinkMessage, type SupervisorAnswers, type WorkerAnswers } from './worker-link.ts'

/** The pause before a worker is started again doubles with each death, and is short again after a worker has served for a while. */
const PAUSE_MS = { first: 100, longest: 30_000 }
const CALM_MS = 60_000

/** The place of one worker: when its process dies, another one takes it. */
interface Slot {
  readonly number: number
  process: WorkerProcess | undefined
  link: ReturnType<typeof createLinkEnd> | undefined
  /** It has served since the server was started. */
  hasServed: boolean
  readyAtMicros: number
  deathsInARow: number
  timer: NodeJS.Timeout | undefined
}

/** Starts the workers of one server, which share its port, and keeps them running until a signal arrives. */
export async function superviseWorkers(deps: ServeDeps, settings: LoadedConfig): Promise<ExitCode> {
  const { config } = settings
  const closing = createClosing()
  const signals = deps.openSignals()
  const log = createLog(deps, logOptionsOf(config.telemetry.log, 'server'))
  const supervisor = new Supervisor(deps, log, config.server.workers)
  closing.add(() => log.close())
  closing.add(() => supervisor.closeMetrics())
  closing.add(() => signals.close())
  signals.onReload(() => supervisor.notifyAll('reload'))
  // The first signal drains, the second cuts, and the third ends workers that do not listen any more.
  const stopOnSignals = async () => {
    for (let signal = 1; ; signal++) {
      await signals.next()
      if (signal < 3) supervisor.stop(EXIT.ok)
      else supervisor.killAll()
    }
  }
  void stopOnSignals()
  supervisor.start()
  try {
    return await supervisor.ended
  } finally {
    await closing.close()
  }
}

class Supervisor {
  readonly ended: Promise<ExitCode>
  readonly #deps: ServeDeps
  readonly #log: Log
  readonly #slots: readonly Slot[]
  #end: (exit: ExitCode) => void = () => {}
  /** Undefined while the server serves. */
  #exit: ExitCode | undefined
  readonly #metrics = createMetricsServer({ render: () => this.#renderMetrics() })
  #metricsListening: Extract<ListenOutcome, { kind: 'listening' }> | undefined
  readonly #answers: SupervisorAnswers = {
    listenMetrics: async (address) => {
      if (this.#metricsListening !== undefined) return this.#metricsListening
      const outcome = await this.#metrics.listen(address)
      if (outcome.kind === 'listening') this.#metricsListening = outcome
      return outcome
    },
    listWorkers: async () => (await this.#askAll<WorkerStatus>('status')).map(({ answer }) => answer),
  }

  constructor(deps: ServeDeps, log: Log, workers: number) {
    this.#deps = deps
    this.#log = log
    const empty = { process: undefined, link: undefined, hasServed: false, timer: undefined }
    this.#slots = Array.from({ length: workers }, (_, index) => ({
      ...{ number: index + 1, readyAtMicros: 0, deathsInARow: 0 },
      ...empty,
    }))
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  /** The first worker alone, because it may create the database; the others follow when it is ready. */
  start(): void {
    this.#startWorker(this.#slots[0]!)
  }

  notifyAll(notice: 'stop' | 'reload'): void {
    for (const { link } of this.#slots) link?.notify(notice)
  }

  /** Called again, it cuts what still runs. */
  stop(exit: ExitCode): void {
    this.#exit ??= exit
    for (const slot of this.#slots) clearTimeout(slot.timer)
    this.notifyAll('stop')
    this.#endIfOver()
  }

  killAll(): void {
    for (const slot of this.#slots) slot.process?.process.kill('SIGKILL')
  }

  closeMetrics(): void {
    this.#metrics.close()
  }

  #startWorker(slot: Slot): void {
    const { number } = slot
    const start: WorkerStart = { number, of: this.#slots.length, announces: number === 1 && !slot.hasServed }
    const child = cluster.fork({ [WORKER_VARIABLE]: JSON.stringify(start) })
    const link = createLinkEnd({
      // A worker that has just ended gets no message.
      send: (message) => void child.send(message, () => {}),
      onNotice: (notice) => {
        if (notice === 'ready') this.#onReady(slot)
      },
      answers: () => this.#answers,
    })
    slot.process = child
    slot.link = link
    slot.readyAtMicros = Number.POSITIVE_INFINITY
    child.on('message', (message: LinkMessage) => link.receive(message))
    let isOver = false
    const onEnd = (code: number | null, signal: string | null) => {
      if (isOver) return
      isOver = true
      link.end()
      slot.process = undefined
      slot.link = undefined
      this.#onEnded(slot, code, signal)
    }
    child.on('exit', onEnd)
    child.on('error', (error) => {
      this.#log.error({ worker: number, error }, 'a worker could not be reached')
      // It was not started at all: no exit follows.
      if (child.process.pid === undefined) onEnd(null, null)
    })
  }

  #onReady(slot: Slot): void {
    const isFirstStart = slot.number === 1 && !slot.hasServed
    slot.hasServed = true
    slot.readyAtMicros = this.#deps.clock.nowMicros()
    if (isFirstStart && this.#exit === undefined) for (const other of this.#slots.slice(1)) this.#startWorker(other)
  }

  #onEnded(slot: Slot, code: number | null, signal: string | null): void {
    const { number } = slot
    const isClean = code === EXIT.ok && signal === null
    if (this.#exit !== undefined) {
      // One that was starting may have been ended by the signal itself, and had nothing to drain.
      const wasServing = Number.isFinite(slot.readyAtMicros)
      if (!isClean && wasServing && this.#exit === EXIT.ok) this.#exit = EXIT.failure
      this.#endIfOver()
      return
    }
    if (!slot.hasServed) {
      // It has told the reason. A worker that is killed tells none.
      if (signal !== null) this.#deps.terminal.err(`Worker ${number} was ended by ${signal} while it started.\n`)
      this.stop(isClean ? EXIT.failure : ((code ?? EXIT.failure) as ExitCode))
      return
    }
    const servedMs = msBetween(slot.readyAtMicros, this.#deps.clock.nowMicros())
    if (servedMs >= CALM_MS) slot.deathsInARow = 0
    const pauseMs = Math.min(PAUSE_MS.longest, PAUSE_MS.first * 2 ** slot.deathsInARow)
    slot.deathsInARow += 1
    this.#log.error({ worker: number, code, signal, pause_ms: pauseMs }, 'a worker has ended; it is started again')
    slot.timer = setTimeout(() => this.#startWorker(slot), pauseMs)
  }

  #endIfOver(): void {
    if (this.#exit !== undefined && this.#slots.every((slot) => slot.process === undefined)) this.#end(this.#exit)
  }

  /** What all workers answer that serve, and whose event loops are not stuck. */
  async #askAll<Answer>(name: keyof WorkerAnswers): Promise<{ worker: number; answer: Answer }[]> {
    const answers = await Promise.all(
      this.#slots.map(async ({ number, link }) => {
        const answer = (await link?.ask(name).catch(() => undefined)) as Answer | undefined
        return answer === undefined ? [] : [{ worker: number, answer }]
      }),
    )
    return answers.flat()
  }

  async #renderMetrics() {
    const all = await this.#askAll<string>('metrics')
    const body = mergeMetrics(all.map(({ worker, answer }) => ({ worker, text: answer })))
    return { contentType: 'text/plain; version=0.0.4; charset=utf-8', body }
  }
}
