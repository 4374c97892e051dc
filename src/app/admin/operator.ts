import { existsSync, statSync } from 'node:fs'
import type { OperationArgs, OperationName, OperationValue } from '../../account/operations.ts'
import { runOperation } from '../../account/operations.ts'
import type { Outcome } from '../../account/outcome.ts'
import type { ServerStatus } from '../../account/server-status.ts'
import type { Operator, OperatorAnswer, Place } from '../../cli/cli-deps.ts'
import { EXIT } from '../../cli/exit-codes.ts'
import { assertNever } from '../../lib/assert-never.ts'
import type { Clock } from '../../lib/clock.ts'
import type { RandomBytes } from '../../lib/random-id.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import type { SettingsOutcome } from '../config/load-settings.ts'
import { hasLedger, listSetAside } from '../house/data-folder.ts'
import type { OpenHouse } from '../house/house.ts'
import { describeHolder, readServerNote } from '../serve/server-note.ts'
import type { AdminAnswer } from './admin-protocol.ts'
import { askServer } from './ask-server.ts'

export interface OperatorDeps {
  readonly version: string
  readonly node: string
  /** The command that starts this program in a shell. */
  readonly program: string
  readonly clock: Clock
  readonly random: RandomBytes
  readonly loadSettings: (place: Place) => SettingsOutcome
  readonly openHouse: OpenHouse
  readonly pause: (ms: number) => Promise<void>
}

type Answer = OperatorAnswer<unknown>

// A server that is just starting, or another command, has the folder for a moment: worth waiting for.
const LOCKED_RETRIES = 40
const LOCKED_RETRY_MS = 100

/** Through the running server where there is one, else here with the data folder locked for the time it takes. */
export function createOperator(deps: OperatorDeps): Operator {
  return {
    async call<Name extends OperationName>(place: Place, name: Name, args: OperationArgs<Name>) {
      // The table of operations ties a name to its value; across a socket that can only be promised.
      return (await call(deps, place, name, args)) as OperatorAnswer<OperationValue<Name>>
    },
  }
}

async function call(deps: OperatorDeps, place: Place, name: OperationName, args: unknown): Promise<Answer> {
  const loaded = deps.loadSettings(place)
  if (loaded.kind === 'invalid') {
    // A server that runs there still has an earlier configuration in force, and can say what is wrong with this one.
    const answer = loaded.data === undefined ? undefined : await askRunning(deps, loaded.data, name, args)
    return answer ?? { kind: 'unreachable', exit: EXIT.usage, message: loaded.message }
  }
  const { settings } = loaded
  const { data } = settings.config.storage
  for (let tries = 0; ; tries++) {
    const answer = (await askRunning(deps, data, name, args)) ?? (await doHere(deps, settings, name, args))
    if (answer.kind !== 'locked') return answer
    if (tries >= LOCKED_RETRIES) {
      const message = await describeHolder(data, deps.program)
      return { kind: 'unreachable', exit: EXIT.cannotBind, message }
    }
    await deps.pause(LOCKED_RETRY_MS)
  }
}

/** Undefined when no server runs there: no note of one, or a note that a killed one left behind. */
async function askRunning(
  deps: OperatorDeps,
  data: string,
  operation: string,
  args: unknown,
): Promise<Answer | undefined> {
  const server = await readServerNote(data)
  if (server === undefined) return undefined
  const reply = await askServer(server.socket, { version: deps.version, operation, args })
  switch (reply.kind) {
    case 'absent':
      return undefined
    case 'broken': {
      const message = `The server (pid ${server.pid}) did not answer: ${reply.reason}. Whether it was done is not known.`
      return { kind: 'unreachable', exit: EXIT.remoteFailed, message }
    }
    case 'reply':
      return readAnswer(reply.answer, deps.version)
    default:
      return assertNever(reply)
  }
}

function readAnswer(answer: AdminAnswer, version: string): Answer {
  switch (answer.kind) {
    case 'answered':
      return answer.outcome
    case 'other-version': {
      const message = `The running server is millrace ${answer.version}, this command is ${version}. Restart the server, or use its version.`
      return { kind: 'unreachable', exit: EXIT.remoteFailed, message }
    }
    case 'malformed':
    case 'failed':
      return { kind: 'unreachable', exit: EXIT.remoteFailed, message: answer.message }
    default:
      return assertNever(answer)
  }
}

function noLedger(data: string): string {
  const isFile = statSync(data, { throwIfNoEntry: false })?.isFile() === true
  const what = isFile ? `${data} is a file, not a data folder.` : `There is no Millrace data in ${data}.`
  return `${what} Name the right folder with --data or storage.data. To create one, start the server: millrace serve. To start a ledger in an existing folder: millrace accounts create`
}

async function doHere(
  deps: OperatorDeps,
  settings: LoadedConfig,
  name: string,
  args: unknown,
): Promise<Answer | { kind: 'locked' }> {
  const { data } = settings.config.storage
  const set_aside = listSetAside(data)
  const { version, node } = deps
  const notRunning: ServerStatus = { running: false, version, node, data, has_ledger: hasLedger(data), set_aside }
  // Asking how things are must not make a data folder.
  if (name === 'status') return { kind: 'done', value: notRunning }
  // A mistyped path must not create a new ledger and key ring, which would look healthy.
  if (!hasLedger(data) && !(name === 'accounts.create' && existsSync(data)))
    return { kind: 'unreachable', exit: EXIT.failure, message: noLedger(data) }
  const opened = await deps.openHouse({ settings, clock: deps.clock, random: deps.random, purpose: 'command' })
  if (opened.kind === 'locked') return opened
  if (opened.kind === 'refused') return { kind: 'unreachable', exit: EXIT.failure, message: opened.message }
  const { house } = opened
  try {
    const outcome: Outcome<unknown> = await runOperation({ ...house.operations, status: () => notRunning }, name, args)
    return outcome
  } finally {
    await house.close().finally(() => house.log.close())
  }
}
