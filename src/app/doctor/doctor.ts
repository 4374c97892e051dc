import type { DoctorReport, Place, Upstreams } from '../../cli/cli-services.ts'
import type { Config } from '../../config/config.ts'
import { type ConfigSources, loadConfig } from '../../config/load-config.ts'
import { shortestPath } from '../../config/problem.ts'
import type { StripeConfig } from '../../payments/provider.ts'
import { examineConfig, examineProblems, examineVariables } from './examine-config.ts'
import { examineFolder } from './examine-folder.ts'
import { examinePorts, examineServer } from './examine-server.ts'
import { FAULTS, type Found, found } from './faults.ts'
import { examineLimits, examineNode, type Machine } from './machine.ts'

interface DoctorServices {
  readonly version: string
  readonly sources: ConfigSources
  readonly machine: Machine
  readonly upstreams: Pick<Upstreams, 'list' | 'test'>
}

/**
 * Looks for the faults of the table without changing anything and without the ledger's lock. Providers are called only
 * with `online`.
 */
export async function examine(
  { version, sources, machine, upstreams }: DoctorServices,
  place: Place,
  { online }: { readonly online: boolean },
): Promise<DoctorReport> {
  const outcome = loadConfig(sources)
  const { environment, cwd } = sources
  const origin = outcome.origin.kind === 'file' ? shortestPath(outcome.origin.path, cwd) : 'none (defaults)'
  const findings: Found[] = [...examineNode(machine), ...examineVariables(environment)]
  const looked: [string, string][] = [
    ['configuration', origin],
    ['machine', `node ${machine.node}`],
  ]
  const skipped: string[] = []
  const data = outcome.kind === 'loaded' ? outcome.config.storage.data : outcome.data
  const named =
    outcome.kind === 'loaded'
      ? { accounts: roleAccountsOf(outcome.config), keys: keysOfJobs(outcome.config) }
      : undefined
  const server = data === undefined ? undefined : await examineServer(data, version, named)
  if (data !== undefined) looked.push(['data folder', data])
  if (server !== undefined) {
    findings.push(...server.findings)
    looked.push(['server', server.pid === undefined ? 'none runs on this data folder' : `pid ${server.pid}`])
  }
  if (outcome.kind === 'invalid') {
    // The running server refuses the same file for the same reason.
    const others = findings.filter(({ fault }) => fault !== 'reload-refused')
    const why = 'Ports, database and providers: not examined, because the configuration is invalid.'
    return report([...examineProblems(outcome, cwd), ...others], looked, [why])
  }
  const { config } = outcome
  const isServed = server?.pid !== undefined
  findings.push(...examineConfig(outcome, machine.now()), ...examineLimits(machine, config))
  const { database } = config.storage
  findings.push(
    ...(await examineFolder(
      {
        data: config.storage.data,
        secretFromEnvironment: config.keyring.secretKey,
        isSqlite: database.kind === 'sqlite',
        isServed,
      },
      machine,
    )),
  )
  if (isServed) skipped.push('Ports and ledger.db: not examined, because the running server holds them.')
  else {
    findings.push(...(await examinePorts(outcome)))
    looked.push(['ports', `${config.server.port} and ${config.server.metricsPort}`])
  }
  if (database.kind === 'postgres') {
    const seen = await examinePostgres(database.url, config)
    findings.push(...seen.findings)
    looked.push(['PostgreSQL', seen.version ?? 'not reached'])
  }
  if (!online) skipped.push('Providers: not called. To send each a short request: millrace doctor --online')
  else findings.push(...(await examineProviders(upstreams, place)), ...(await examinePayments(config.stripe)))
  return report(findings, looked, skipped)
}

/** Connects once and changes nothing. */
async function examinePostgres(
  url: string,
  { storage, server }: Config,
): Promise<{ readonly version: string | undefined; readonly findings: readonly Found[] }> {
  const { inspectPostgres } = await import('../../db/postgres/open-database.ts')
  const seen = await inspectPostgres(url, { mayLoseCommits: storage.mayLoseCommits })
  if (seen.kind === 'unreachable')
    return { version: undefined, findings: [found('postgres-unreachable', seen.message)] }
  const { version, unsuitable, connectionsMax, connectionsPerProcess } = seen
  if (unsuitable !== undefined) return { version, findings: [found('postgres-unsuitable', unsuitable)] }
  const needed = server.workers * connectionsPerProcess
  if (connectionsMax >= needed) return { version, findings: [] }
  const message = `max_connections leaves ${connectionsMax} connections, and this server uses up to ${needed}.`
  return { version, findings: [found('postgres-too-few-connections', message)] }
}

async function examinePayments(stripe: StripeConfig | undefined): Promise<Found[]> {
  if (stripe === undefined) return []
  const { createStripe } = await import('../../payments/stripe.ts')
  return (await createStripe(stripe).examine()).map((message) => found('card-payments-fail', message))
}
/** The accounts in which groups give roles. */
const roleAccountsOf = ({ signIn: { providers, scimRoles } }: Config): string[] => [
  ...new Set([...providers.flatMap(({ roles }) => roles), ...scimRoles].flatMap(({ account }) => account ?? [])),
]

const keysOfJobs = ({ jobIssuers }: Config): string[] => [
  ...new Set(jobIssuers.flatMap(({ rules }) => rules.map(({ key }) => key))),
]

/** One lane of each upstream: the faults of an upstream are those of all its lanes. */
async function examineProviders(upstreams: DoctorServices['upstreams'], place: Place): Promise<Found[]> {
  const listed = await upstreams.list(place)
  if (listed.kind === 'invalid') return []
  const names = listed.value.flatMap(({ lanes: [first] }) => (first === undefined ? [] : [first.id]))
  if (names.length === 0) return []
  const tested = await upstreams.test(place, { names, onBegin: () => {}, onTested: () => {} })
  if (tested.kind === 'invalid') return []
  return tested.value
    .filter(({ ok }) => !ok)
    .map(({ lane, upstream, message, cure }) =>
      found('lane-failed', `${lane ?? upstream}: ${message}`, cure ?? undefined),
    )
}

function report(
  findings: readonly Found[],
  looked: readonly (readonly [string, string])[],
  skipped: readonly string[],
): DoctorReport {
  const all = findings.map(({ fault, message, cure }) => {
    const { area, severity, why } = FAULTS[fault]
    return { fault, area, severity, message, why, cure }
  })
  const ordered = [
    ...all.filter((one) => one.severity === 'broken'),
    ...all.filter((one) => one.severity === 'warning'),
  ]
  const examined = looked.map(([area, at]) => ({ area, at }))
  return { ok: ordered.every(({ severity }) => severity !== 'broken'), findings: ordered, examined, skipped }
}
