import { parentPort, workerData } from 'node:worker_threads'
import { assertNever } from '../lib/assert-never.ts'
import { openDriver, type SqliteDriver } from './driver.ts'
import { runAtomic, runEach } from './run-atomic.ts'
import {
  OPENED,
  packError,
  type WorkerReply,
  type WorkerRequest,
  type WorkerSettings,
  type WorkerTask,
} from './worker-messages.ts'

/**
 * The thread that owns one database file. Every task runs from its first to its last step before the next message is
 * looked at, so a read never meets an open transaction.
 */
const port = parentPort
if (port === null) throw new Error('This file is the body of a worker thread')

const reply = (message: WorkerReply): void => port.postMessage(message)

function open(): SqliteDriver | undefined {
  try {
    const driver = openDriver(workerData as WorkerSettings)
    reply({ id: OPENED, kind: 'done', value: driver.name })
    return driver
  } catch (error) {
    reply({ id: OPENED, kind: 'failed', failure: packError(error) })
    return undefined
  }
}

function perform(driver: SqliteDriver, task: WorkerTask) {
  switch (task.kind) {
    case 'all':
      return driver.all(task.sql, task.parameters)
    case 'atomic':
      return runAtomic(driver, task.statements)
    case 'each':
      return runEach(driver, task.groups).map((failure) => (failure === undefined ? undefined : packError(failure)))
    case 'close':
      driver.close()
      return null
    default:
      return assertNever(task)
  }
}

const driver = open()
if (driver === undefined) port.close()
else {
  port.on('message', ({ id, task }: WorkerRequest) => {
    try {
      reply({ id, kind: 'done', value: perform(driver, task) })
    } catch (error) {
      reply({ id, kind: 'failed', failure: packError(error) })
    }
    // Without the port nothing keeps the thread alive, and it ends by itself.
    if (task.kind === 'close') port.close()
  })
}
