import cluster from 'node:cluster'
import { EventEmitter } from 'node:events'
import type { WorkerStatus } from '../admin/server-status.ts'
import { EXIT } from '../cli/cli-services.ts'
import type { ListenOutcome } from '../server/listener.ts'
import type { WorkerStart } from './process.ts'

/** What the supervisor asks a worker, with the answers. Undefined: it does not serve yet. */
export interface WorkerAnswers {
  metrics(): Promise<string | undefined>
  status(): Promise<WorkerStatus | undefined>
}

/** What a worker asks the supervisor, with the answers. */
export interface SupervisorAnswers {
  /** One port for the metrics of all workers. */
  listenMetrics(address: { readonly host: string; readonly port: number }): Promise<ListenOutcome>
  listWorkers(): Promise<readonly WorkerStatus[]>
}

type Notice = 'ready' | 'stop' | 'reload'

/** A message between supervisor and worker, in either direction. */
export type LinkMessage =
  | { readonly kind: 'notice'; readonly notice: Notice }
  | { readonly kind: 'question'; readonly id: number; readonly name: string; readonly argument: unknown }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: unknown }
  | { readonly kind: 'no-answer'; readonly id: number; readonly reason: string }

/** How long the supervisor waits for a worker, whose event loop may be stuck, and a worker for what the supervisor asks all. */
const ANSWER_MS = { ofWorker: 2000, ofSupervisor: 10_000 }

interface LinkEnd {
  readonly send: (message: LinkMessage) => void
  readonly onNotice: (notice: Notice) => void
  readonly answers: () => object
  /** Of the other side. */
  readonly answerMs?: number
}

/** One end of the channel between the supervisor and a worker: notices, and questions that are answered. */
export function createLinkEnd({ send, onNotice, answers, answerMs = ANSWER_MS.ofWorker }: LinkEnd) {
  const waiting = new Map<number, { resolve(answer: unknown): void; reject(error: Error): void }>()
  let asked = 0
  let isOver = false
  const answer = async (id: number, name: string, argument: unknown) => {
    try {
      const handler = (answers() as Record<string, (argument: unknown) => Promise<unknown>>)[name]
      send({ kind: 'answer', id, answer: await handler?.(argument) })
    } catch (error) {
      send({ kind: 'no-answer', id, reason: String(error) })
    }
  }
  return {
    notify: (notice: Notice) => send({ kind: 'notice', notice }),
    /** Rejects when the other side has ended, or does not answer in time. */
    ask(name: string, argument?: unknown): Promise<unknown> {
      const id = ++asked
      const answered = new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject })
        if (isOver) reject(new Error('the process has ended'))
        else send({ kind: 'question', id, name, argument })
      })
      const timer = setTimeout(() => waiting.get(id)?.reject(new Error(`${name}: no answer in time`)), answerMs)
      return answered.finally(() => {
        clearTimeout(timer)
        waiting.delete(id)
      })
    },
    receive(message: LinkMessage): void {
      if (message.kind === 'notice') onNotice(message.notice)
      else if (message.kind === 'question') void answer(message.id, message.name, message.argument)
      else if (message.kind === 'answer') waiting.get(message.id)?.resolve(message.answer)
      else waiting.get(message.id)?.reject(new Error(message.reason))
    },
    /** The other side has ended. */
    end(): void {
      isOver = true
      for (const { reject } of waiting.values()) reject(new Error('the process has ended'))
    },
  }
}

/** The side of a worker. */
export type WorkerLink = ReturnType<typeof joinSupervisor>

/**
 * A worker is stopped by its supervisor, not by signals: Ctrl+C reaches all processes of a terminal, and a second signal would cut
 * running answers. When the supervisor has gone, the worker stops as for a signal.
 */
export function joinSupervisor(start: WorkerStart) {
  const supervisorPid = process.ppid
  /** In the place of the signals of the process. */
  const signals = new EventEmitter()
  let answers: WorkerAnswers = { metrics: async () => undefined, status: async () => undefined }
  let hasServed = false
  const stop = () => {
    hasServed ||= signals.listenerCount('SIGTERM') > 0
    // Nothing was admitted yet.
    if (!signals.emit('SIGTERM') && !hasServed) process.exit(EXIT.ok)
  }
  const end = createLinkEnd({
    send: (message) => void process.send?.(message, undefined, undefined, () => {}),
    onNotice: (notice) => (notice === 'stop' ? stop() : signals.emit('SIGHUP')),
    answers: () => answers,
    answerMs: ANSWER_MS.ofSupervisor,
  })
  const onSignal = () => {
    if (!process.connected) stop()
  }
  process.title = `millrace-${start.number}`
  process.on('message', end.receive)
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  process.on('SIGHUP', () => {})
  const onDisconnect = () => {
    // Otherwise Node ends the process at once.
    cluster.worker!.exitedAfterDisconnect = true
    end.end()
    stop()
  }
  cluster.worker!.once('disconnect', onDisconnect)
  return {
    ...start,
    pid: process.pid,
    supervisorPid,
    signals,
    ready: () => end.notify('ready'),
    answerWith(serving: WorkerAnswers): void {
      answers = serving
    },
    listenMetrics: (address: { readonly host: string; readonly port: number }) =>
      end.ask('listenMetrics', address) as ReturnType<SupervisorAnswers['listenMetrics']>,
    listWorkers: () => end.ask('listWorkers') as ReturnType<SupervisorAnswers['listWorkers']>,
    /** The channel would keep the process alive. */
    leave(): void {
      hasServed = true
      if (process.connected) process.disconnect()
    },
  }
}
