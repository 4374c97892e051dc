import type { ServerStatus } from '../../admin/server-status.ts'
import type { LoadedConfig } from '../../config/load-config.ts'
import { sendToServer } from '../operator.ts'
import { explainListenFailure, tryPort } from '../ports.ts'
import { readServerNote } from '../server-note.ts'
import { type Found, found } from './faults.ts'

/** A healthy server answers at once. */
const ANSWER_MS = 3000

interface ServerSeen {
  /** The process of a server; undefined if none runs on this data folder. */
  readonly pid: number | undefined
  readonly findings: readonly Found[]
}

/** Looks for a server on the data folder, and asks it how it is. */
export async function examineServer(
  data: string,
  version: string,
  roleAccounts: readonly string[] = [],
): Promise<ServerSeen> {
  const note = await readServerNote(data)
  if (note === undefined) return { pid: undefined, findings: [] }
  const reply = await sendToServer(note.socket, { version, operation: 'status', args: {} }, ANSWER_MS)
  const { pid } = note
  switch (reply.kind) {
    case 'absent':
      return {
        pid: undefined,
        findings: [found('unclean-stop', `The server with pid ${pid} has ended without removing ${data}/server.json.`)],
      }
    case 'broken':
      return { pid, findings: [unresponsive(pid, reply.reason)] }
    case 'reply': {
      const { answer } = reply
      if (answer.kind === 'other-version') return { pid, findings: [otherVersion(pid, answer.version, version)] }
      if (answer.kind !== 'answered' || answer.outcome.kind !== 'done') {
        return { pid, findings: [unresponsive(pid, 'it cannot tell its status')] }
      }
      const findings = examineStatus(answer.outcome.value as ServerStatus, version)
      for (const account of roleAccounts)
        if (await isUnknown(note.socket, version, account))
          findings.push(found('role-account-unknown', `sign_in gives a role in ${account}, which is no account here.`))
      return { pid, findings }
    }
  }
}

async function isUnknown(socket: string, version: string, account: string): Promise<boolean> {
  const reply = await sendToServer(socket, { version, operation: 'accounts.show', args: { account } }, ANSWER_MS)
  const outcome = reply.kind === 'reply' && reply.answer.kind === 'answered' ? reply.answer.outcome : undefined
  return outcome?.kind === 'refused' && outcome.reason === 'account_not_found'
}

const unresponsive = (pid: number, reason: string): Found =>
  found('server-unresponsive', `The running server (pid ${pid}) does not answer: ${reason}.`)

const otherVersion = (pid: number, running: string, own: string): Found =>
  found('server-other-version', `The running server (pid ${pid}) is millrace ${running}, and this command is ${own}.`)

function examineStatus(status: ServerStatus, version: string): Found[] {
  if (!status.running) return []
  const { pid, reload_refused: refused, ledger_available: isAvailable } = status
  return [
    ...(status.version === version ? [] : [otherVersion(pid, status.version, version)]),
    ...(refused === null
      ? []
      : [found('reload-refused', `The running server (pid ${pid}) keeps its previous configuration: ${refused}`)]),
    ...(isAvailable ? [] : [found('ledger-unavailable', `The running server (pid ${pid}) cannot write its ledger.`)]),
  ]
}

/** Ports that the next start needs. Called while no server runs on the data folder. */
export async function examinePorts({ config, origins }: LoadedConfig): Promise<Found[]> {
  const { server, telemetry } = config
  const api = { host: server.host, port: server.port }
  const metrics = { host: server.metricsHost, port: server.metricsPort }
  const findings: Found[] = []
  const apiOutcome = await tryPort(api)
  if (apiOutcome.kind !== 'listening') {
    const message = await explainListenFailure(apiOutcome.kind, api, 'server.port')
    findings.push(found(apiOutcome.kind === 'address-in-use' ? 'port-taken' : 'host-not-here', message))
  }
  if (!telemetry.metrics) return findings
  const metricsOutcome = await tryPort(metrics)
  if (metricsOutcome.kind === 'listening') return findings
  const message = await explainListenFailure(metricsOutcome.kind, metrics, 'server.metrics_port')
  const isConfigured = origins.has('server.metrics_port')
  if (metricsOutcome.kind !== 'address-in-use') findings.push(found('host-not-here', message))
  else findings.push(found(isConfigured ? 'metrics-port-taken' : 'metrics-port-moves', message))
  return findings
}
