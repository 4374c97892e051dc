import type { Config } from '../../config/config.ts'
import { inspectPostgres } from '../../db/postgres/open-database.ts'
import { type Found, found } from './faults.ts'

/** Connects once and changes nothing. */
export async function examinePostgres(
  url: string,
  { storage, server }: Config,
): Promise<{ readonly version: string | undefined; readonly findings: readonly Found[] }> {
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
