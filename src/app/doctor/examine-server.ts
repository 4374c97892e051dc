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

/** What the configuration names and the server has to have. */
interface NamedInConfig {
  readonly accounts: readonly string[]
  readonly keys: readonly string[]
}

/** Looks for a server on the data folder, and asks it how it is. */
export async function examineServer(
  data: string,
  version: string,
  named: NamedInConfig = { accounts: [], keys: [] },
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
      const show = (operation: 'accounts.show' | 'keys.show', args: object) =>
        outcomeOf(note.socket, { version, operation, args })
      for (const account of named.accounts)
        if (isRefused(await show('accounts.show', { account }), 'account_not_found'))
          findings.push(found('role-account-unknown', `sign_in gives a role in ${account}, which is no account here.`))
      for (const key of named.keys) {
        const shown = await show('keys.show', { key })
        if (isRefused(shown, 'key_not_found') || isRevoked(shown))
          findings.push(found('job-key-unknown', `keyless names ${key}, which is no live key here.`))
      }
      return { pid, findings }
    }
  }
}

async function outcomeOf(socket: string, request: { version: string; operation: string; args: object }) {
  const reply = await sendToServer(socket, request, ANSWER_MS)
  return reply.kind === 'reply' && reply.answer.kind === 'answered' ? reply.answer.outcome : undefined
}

type Shown = Awaited<ReturnType<typeof outcomeOf>>

const isRefused = (shown: Shown, reason: string): boolean => shown?.kind === 'refused' && shown.reason === reason

const isRevoked = (shown: Shown): boolean =>
  shown?.kind === 'done' && (shown.value as { readonly state?: string } | null)?.state === 'revoked'

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
